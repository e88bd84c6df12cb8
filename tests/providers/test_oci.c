/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the OCI kind by tables: profiles, signatures, errors, nodes, findings.
 */
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/log.h"
#include "providers/oci/oci_errors.h"
#include "providers/oci/oci_node.h"
#include "providers/oci/oci_signature.h"
#include "tests/providers/oci_bench.h"

#include <stdlib.h>

static void the_signature_covers_what_it_must(void **state)
{
    static const struct {
        enum http_method method;
        const char *url;
        const char *body;
        const char *signing;
    } cases[] = {
        { HTTP_GET, "https://h.example/20180222/nodePools/a?x=y", "",
          "date: Mon, 21 Sep 2026 14:13:20 GMT\n"
          "(request-target): get /20180222/nodePools/a?x=y\n"
          "host: h.example" },
        { HTTP_DELETE, "https://h.example:443/n", "",
          "date: Mon, 21 Sep 2026 14:13:20 GMT\n(request-target): delete /n\nhost: h.example" },
        { HTTP_PUT, "http://127.0.0.1:81/n", "{\"a\":1}",
          "date: Mon, 21 Sep 2026 14:13:20 GMT\n"
          "(request-target): put /n\n"
          "host: 127.0.0.1:81\n"
          "x-content-sha256: AVq9f1zFei3ZS3WQ8ErYCEJzkF7jPsXOvq5iJ2qX+GI=\n"
          "content-type: application/json\n"
          "content-length: 7" },
    };
    owned(chars) char *pem = oci_new_key();
    owned(crypto_key) struct crypto_key *key = NULL;
    struct error wrong;

    (void)state;
    assert_int_equal(crypto_key_read(&key, pem, &wrong), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct oci_request request = {
            cases[i].method, cases[i].url, cases[i].body, { 1790000000000 }
        };
        owned(oci_headers) struct oci_headers headers = { 0 };
        struct error err = { 0 };
        const char *authorization;
        const char *said;

        assert_int_equal(oci_sign("t/u/f", key, &request, &headers, &err), 0);
        authorization = headers.items[headers.count - 1].value;
        assert_true(text_starts_with(authorization, "Signature version=\"1\",keyId=\"t/u/f\","
                                                    "algorithm=\"rsa-sha256\",headers=\"date "
                                                    "(request-target) host"));
        said = strstr(authorization, "signature=\"");
        assert_non_null(said);
        owned(chars) char *base64 = text_format("%.*s", (int)strcspn(said + 11, "\""), said + 11);
        owned(text) struct text *signature = crypto_decode_base64(base64, &err);
        assert_non_null(signature);
        if (!crypto_verify_rs256(key, cases[i].signing, strlen(cases[i].signing), signature->chars,
                                 signature->length))
            fail_msg("%s: another text was signed", cases[i].url);
    }
}

static void profiles_are_read(void **state)
{
    static const struct {
        const char *file; /* %s: the path of a key */
        const char *profile;
        const char *key_id; /* NULL: refused */
        const char *want;   /* the region, or what the error says */
    } cases[] = {
        { "[DEFAULT]\nuser=u\nfingerprint=f\ntenancy=t\nregion=r\nkey_file=%s\n", NULL, "t/u/f",
          "r" },
        { " [DEFAULT] \n user = u \r\nfingerprint=f\ntenancy=t\nkey_file=%s\n# x=y\n[b]\n"
          "region=r2\nuser=v\n",
          "b", "t/v/f", "r2" },
        { "[b]\nuser=u\nfingerprint=f\ntenancy=t\nregion=r\nkey_file=%s\n", NULL, NULL,
          "profile DEFAULT: there is no such profile" },
        { "[DEFAULT]\nfingerprint=f\ntenancy=t\nkey_file=%s\n", NULL, NULL, "has no user" },
        { "[DEFAULT]\nuser=u\nfingerprint=f\ntenancy=t\n#%s\n", NULL, NULL, "has no key_file" },
        { "[DEFAULT]\nuser=u\nfingerprint=f\ntenancy=t\nkey_file=key.pem\n#%s\n", NULL, NULL,
          "expected an absolute path" },
        { "[DEFAULT]\nuser=u\nfingerprint=f\ntenancy=t\nkey_file=%s\npass_phrase=p\n", NULL, NULL,
          "pass_phrase" },
        { "[DEFAULT]\nuser=u\nfingerprint=f\"\ntenancy=t\nkey_file=%s\n", NULL, NULL, "a quote" },
        { "[DEFAULT]\nuser=u\nfingerprint=f\ntenancy=t\nkey_file=/nowhere/k\n#%s\n", NULL, NULL,
          "/nowhere/k" },
    };

    (void)state;
    unsetenv("OCI_CLI_PROFILE");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *key = test_folder_write(folder, "key.pem", "PEM");
        const char *split = strstr(cases[i].file, "%s");
        owned(chars) char *file = text_format("%.*s%s%s", (int)(split - cases[i].file),
                                              cases[i].file, key, split + 2);
        owned(chars) char *path = test_folder_write(folder, "config", file);
        const struct oci_account account = { .credentials = path, .profile = cases[i].profile };
        owned(oci_profile) struct oci_profile profile = { 0 };
        struct error err = { 0 };

        if (oci_profile_read(&account, &profile, &err) < 0) {
            if (cases[i].key_id || err.kind == ERROR_NOT_FOUND ||
                !strstr(err.text, cases[i].want) || !strstr(err.text, path))
                fail_msg("%zu: %s", i, err.text);
            continue;
        }
        assert_non_null(cases[i].key_id);
        assert_string_equal(profile.key_id, cases[i].key_id);
        assert_string_equal(profile.region, cases[i].want);
        assert_string_equal(profile.key_pem, "PEM");
    }
}

static void a_session_is_its_token(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *key = test_folder_write(folder, "key.pem", "PEM");
    owned(chars) char *token = test_folder_write(folder, "token", "eyJ.a.b\n");
    owned(chars) char *file = text_format("[s]\nregion=r\nkey_file=%s\nsecurity_token_file=%s\n",
                                          key, token);
    owned(chars) char *path = test_folder_write(folder, "config", file);
    const struct oci_account account = { .credentials = path, .profile = "s" };
    owned(oci_profile) struct oci_profile profile = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(oci_profile_read(&account, &profile, &err), 0);
    assert_string_equal(profile.key_id, "ST$eyJ.a.b");
}

static void no_file_is_a_denial(void **state)
{
    const struct oci_account account = { .credentials = "/nowhere/config" };
    struct oci_profile profile;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(oci_profile_read(&account, &profile, &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
}

static void answers_have_their_kinds(void **state)
{
    static const struct {
        int status;
        const char *body;
        bool is_mutation;
        enum error_kind kind;
    } cases[] = {
        { 200, NULL, false, ERROR_NONE },
        { 202, NULL, true, ERROR_NONE },
        { 400, "{\"code\":\"InvalidParameter\",\"message\":\"m\"}", true, ERROR_INVALID },
        { 400, "{\"code\":\"LimitExceeded\",\"message\":\"m\"}", true, ERROR_DENIED },
        { 400, "{\"code\":\"QuotaExceeded\",\"message\":\"m\"}", true, ERROR_DENIED },
        { 401, "{\"code\":\"NotAuthenticated\",\"message\":\"m\"}", false, ERROR_DENIED },
        { 404, "{\"code\":\"NotAuthorizedOrNotFound\",\"message\":\"m\"}", true, ERROR_DENIED },
        { 409, "{\"code\":\"IncorrectState\",\"message\":\"m\"}", true, ERROR_CONFLICT },
        { 412, "{\"code\":\"NoEtagMatch\",\"message\":\"m\"}", true, ERROR_CONFLICT },
        { 429, "{\"code\":\"TooManyRequests\",\"message\":\"m\"}", false, ERROR_THROTTLED },
        { 429, "<html>", false, ERROR_THROTTLED },
        { 500, "{\"code\":\"InternalServerError\",\"message\":\"m\"}", false, ERROR_TRANSIENT },
        { 500, "{\"code\":\"InternalServerError\",\"message\":\"m\"}", true,
          ERROR_UNKNOWN_OUTCOME },
        { 500, "{\"code\":\"InternalError\",\"message\":\"Out of host capacity.\"}", false,
          ERROR_NO_CAPACITY },
        { 500, "{\"code\":\"InternalError\",\"message\":\"Out of host capacity.\"}", true,
          ERROR_UNKNOWN_OUTCOME },
        { 503, "", true, ERROR_UNKNOWN_OUTCOME },
        { 302, "", false, ERROR_INVALID },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *chars = cases[i].body ?: "";
        owned(json) json_t *body = json_loads(chars, 0, NULL);
        const struct oci_said said = { cases[i].status, body, 0, cases[i].is_mutation };
        struct error err = { 0 };
        int result = oci_error_of_answer(&said, &err);

        if (err.kind != cases[i].kind || (result < 0) != (cases[i].kind != ERROR_NONE))
            fail_msg("%d %s: %s", cases[i].status, chars, error_kind_name(err.kind));
    }
}

#define POOL(nodes, size)                                                                          \
    "{\"id\":\"np\",\"nodeConfigDetails\":{\"size\":" size "},\"nodes\":[" nodes "]}"

static void nodes_are_read(void **state)
{
    static const struct {
        const char *node;
        size_t count;
        enum instance_state state;
        int present;
        enum error_kind trouble; /* of the pool */
    } cases[] = {
        { "{\"id\":\"i\",\"lifecycleState\":\"ACTIVE\"}", 1, INSTANCE_RUNNING, 1, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"CREATING\"}", 1, INSTANCE_CREATING, 1, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"UPDATING\"}", 1, INSTANCE_OTHER, 1, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"DELETING\"}", 1, INSTANCE_DELETING, 0, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"DELETED\"}", 0, INSTANCE_OTHER, 0, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"FAILING\"}", 1, INSTANCE_OTHER, 1, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"INACTIVE\"}", 1, INSTANCE_OTHER, 1, ERROR_NONE },
        { "{\"id\":\"i\",\"lifecycleState\":\"A_NEW_ONE\"}", 1, INSTANCE_OTHER, 1, ERROR_NONE },
        { "{\"lifecycleState\":\"FAILING\",\"nodeError\":{\"code\":\"LimitExceeded\","
          "\"message\":\"m\"}}",
          0, INSTANCE_OTHER, 0, ERROR_DENIED },
        { "{\"lifecycleState\":\"FAILING\",\"nodeError\":{\"code\":\"InternalError\","
          "\"message\":\"Out of host capacity.\"}}",
          0, INSTANCE_OTHER, 0, ERROR_NO_CAPACITY },
        { "{\"lifecycleState\":\"FAILING\",\"nodeError\":{\"code\":\"InternalError\","
          "\"message\":\"m\"}}",
          0, INSTANCE_OTHER, 0, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *chars = text_format(POOL("%s", "2"), cases[i].node);
        owned(json) json_t *body = json_loads(chars, 0, NULL);
        owned(oci_node_list) struct oci_node_list list = { 0 };
        struct error err = { 0 };

        assert_int_equal(oci_read_pool(body, "np", &list, &err), 0);
        if (list.machines.count != cases[i].count || list.present != cases[i].present ||
            list.wanted != 2 || list.trouble.kind != cases[i].trouble ||
            (list.machines.count && list.machines.items[0].state != cases[i].state))
            fail_msg("%s", cases[i].node);
    }
}

static void answers_that_are_no_pool(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"id\":\"np\",\"nodeConfigDetails\":{\"size\":1}}",
        "{\"id\":\"np\",\"nodes\":[]}",
        "{\"id\":\"other\",\"nodeConfigDetails\":{\"size\":1},\"nodes\":[]}",
        POOL("{\"id\":7}", "1"),
        POOL("7", "1"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *body = json_loads(cases[i], 0, NULL);
        owned(oci_node_list) struct oci_node_list list = { 0 };
        struct error err = { 0 };

        if (oci_read_pool(body, "np", &list, &err) == 0 || err.kind != ERROR_CORRUPT ||
            list.machines.count > 0)
            fail_msg("%s: %s", cases[i], err.text);
    }
}

static void provider_ids_are_ocids(void **state)
{
    static const struct {
        const char *id;
        const char *name; /* NULL: of another cloud */
    } cases[] = {
        { "ocid1.instance.oc1.iad.abc", "ocid1.instance.oc1.iad.abc" },
        { "oci://ocid1.instance.oc1.iad.abc", "ocid1.instance.oc1.iad.abc" },
        { "ocid1.volume.oc1.iad.abc", NULL },
        { "gce://p/z/i", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char name[INSTANCE_NAME_SIZE] = "";
        size_t claim = 9;
        bool is_ours = oci_read_provider_id(oci_address(), cases[i].id, name, &claim);

        assert_int_equal(is_ours, cases[i].name != NULL);
        if (is_ours)
            assert_string_equal(name, cases[i].name);
    }
}

struct hearing {
    struct text *said;
    int calls;
    struct error err;
};

static void on_finding(void *context, const struct finding *finding)
{
    static const char *const verdicts[] = { "right", "doubtful", "wrong" };
    struct hearing *hearing = context;

    assert_true(finding->verdict == FINDING_RIGHT || finding->remedy[0] != '\0');
    text_add(hearing->said, "%s %s: %s\n", verdicts[finding->verdict], finding->subject,
             finding->text);
}

static void on_inspected(void *context, const char *operation, const struct error *err)
{
    struct hearing *hearing = context;

    (void)operation;
    hearing->calls++;
    hearing->err = err ? *err : (struct error){ 0 };
}

static void an_inspection_names_each_mistake(void **state)
{
    static const struct {
        const char *world;
        const char *want;
    } cases[] = {
        { "nodes: 2", "right lifecycleState: the node pool is active\n"
                      "right placementConfigs/availabilityDomain: the node pool is in the zone of "
                      "its reservation\n"
                      "right placementConfigs/capacityReservationId: the node pool uses the "
                      "reservation\n"
                      "right lifecycleState: the reservation is active\n"
                      "right reservedInstanceCount: 1 of the 3 machines of the reservation are "
                      "free\n" },
        { "nodes: 1, oci: {node_pool: '{\"lifecycleState\":\"UPDATING\"}'}",
          "doubtful lifecycleState: the node pool is being changed" },
        { "nodes: 1, oci: {node_pool: '{\"nodePoolCyclingDetails\":{\"isNodeCyclingEnabled\":"
          "true}}'}",
          "doubtful nodePoolCyclingDetails/isNodeCyclingEnabled" },
        { "nodes: 1, oci: {node_pool: '{\"nodeConfigDetails\":{\"placementConfigs\":["
          "{\"availabilityDomain\":\"AD-1\"},{\"availabilityDomain\":\"AD-2\"}]}}'}",
          "wrong nodeConfigDetails/placementConfigs" },
        { "nodes: 1, oci: {node_pool: '{\"nodeConfigDetails\":{\"placementConfigs\":["
          "{\"availabilityDomain\":\"AD-2\"}]}}'}",
          "wrong placementConfigs/availabilityDomain: the node pool is in AD-2, its reservation in "
          "AD-1" },
        { "nodes: 1, oci: {node_pool: '{\"nodeConfigDetails\":{\"placementConfigs\":["
          "{\"availabilityDomain\":\"AD-1\"}]}}'}",
          "wrong placementConfigs/capacityReservationId" },
        { "nodes: 1, oci: {node_pool: '{\"nodeConfigDetails\":{\"placementConfigs\":["
          "{\"availabilityDomain\":\"AD-1\",\"preemptibleNodeConfig\":{}}]}}'}",
          "wrong placementConfigs/preemptibleNodeConfig" },
        { "nodes: 1, oci: {reservation: '{\"lifecycleState\":\"DELETING\"}'}",
          "wrong lifecycleState: the reservation is not active" },
        { "nodes: 1, oci: {reservation: '{\"usedInstanceCount\":null}'}",
          "doubtful reservedInstanceCount" },
        { "denied: [{whose: oracle, action: GetNodePool}]", "wrong read cluster-node-pools" },
        { "denied: [{whose: oracle, action: GetComputeCapacityReservation}]",
          "wrong read compute-capacity-reservations" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hearing hearing = { .said = text_new(16 * 1024) };
        struct oci_bench bench;

        oci_bench_open(&bench, cases[i].world, false);
        provider_inspect(bench.provider, oci_address(), on_finding, on_inspected, &hearing);
        for (int k = 0; k < 600 && hearing.calls == 0; k++)
            oci_wait(&bench, 100);
        if (hearing.calls != 1 || hearing.err.kind != ERROR_NONE ||
            !strstr(hearing.said->chars, cases[i].want) ||
            (i > 0 && !strstr(cases[i].want, "right") && !strstr(hearing.said->chars, "wrong ") &&
             !strstr(hearing.said->chars, "doubtful ")))
            fail_msg("%s:\n%s%s", cases[i].world, hearing.said->chars, hearing.err.text);
        oci_bench_close(&bench);
        text_free(hearing.said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_signature_covers_what_it_must),
        cmocka_unit_test(profiles_are_read),
        cmocka_unit_test(a_session_is_its_token),
        cmocka_unit_test(no_file_is_a_denial),
        cmocka_unit_test(answers_have_their_kinds),
        cmocka_unit_test(nodes_are_read),
        cmocka_unit_test(answers_that_are_no_pool),
        cmocka_unit_test(provider_ids_are_ocids),
        cmocka_unit_test(an_inspection_names_each_mistake),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
