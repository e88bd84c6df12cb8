/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A watch as its bytes arrive: the same events, however it is cut into pieces.
 */
#include "clusters/kube/kube_frames.h"
#include "tests/fuzz/fuzz.h"

static int on_event(void *context, enum kube_event_type type, const json_t *object,
                    struct error *err)
{
    (void)err;
    require(json_is_object(object) && type <= KUBE_EVENT_BOOKMARK);
    ++*(int *)context;
    return 0;
}

static int read_in_pieces(const char *bytes, size_t size, size_t piece, bool *ret_is_good)
{
    int count = 0;
    struct kube_frames *frames = kube_frames_new(NULL, on_event, &count);
    struct error err = { 0 };

    *ret_is_good = true;
    for (size_t at = 0; at < size && *ret_is_good; at += piece) {
        size_t length = size - at < piece ? size - at : piece;

        *ret_is_good = kube_frames_add(frames, bytes + at, length, &err) >= 0;
    }
    if (!*ret_is_good)
        fuzz_expect_error(&err);
    kube_frames_free(frames);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bool whole_is_good, cut_is_good;
    int whole, cut;

    if (size < 2)
        return 0;
    whole = read_in_pieces((const char *)bytes + 1, size - 1, size - 1, &whole_is_good);
    cut = read_in_pieces((const char *)bytes + 1, size - 1, 1 + bytes[0] % 16, &cut_is_good);
    require(whole_is_good == cut_is_good);
    require(whole == cut);
    return 0;
}
