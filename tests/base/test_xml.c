/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * XML: what is read, every refused construct with its words, limits.
 */
#include "base/input/xml.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <string.h>

static struct xml_document *parse(const char *chars, struct error *err)
{
    return xml_parse(chars, strlen(chars), "answer", err);
}

static void reads_an_answer(void **state)
{
    struct error err = { 0 };
    owned(xml_document) struct xml_document *document = parse(
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <a> -->\n"
        "<ns:Answer xmlns:ns='http://a.example/b>c' x = \"1\">\n"
        "  <Groups>\n"
        "    <member><Name>a</Name><Size>-7</Size></member>\n"
        "    <other/>\n"
        "    <member ><Name > b &amp;<!-- cut -->&lt;&gt;&quot;&apos;&#10;&#x41;&#xE9;&#8364;"
        "&#x1F600;\xc3\xa9</Name ></member>\n"
        "  </Groups>\n"
        "  <Empty></Empty><Empty2/>\n"
        "</ns:Answer>\n<!-- end -->\n",
        &err);
    const struct xml_element *root, *item;
    const char *text = NULL;
    int64_t number = 0;

    (void)state;
    assert_string_equal(err.text, "");
    root = xml_root(document);
    assert_string_equal(root->name, "Answer");
    assert_string_equal(root->text, "");
    item = xml_first(root, "Groups/member");
    assert_string_equal(xml_text_or(item, "Name", "?"), "a");
    assert_int_equal(xml_need_int(item, "Size", &number, &err), 0);
    assert_int_equal(number, -7);
    item = xml_next(item);
    assert_non_null(item);
    assert_int_equal(xml_need_text(item, "Name", &text, &err), 0);
    assert_string_equal(text, " b &<>\"'\nA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
    assert_null(xml_next(item));
    assert_string_equal(xml_text_or(root, "Empty", "?"), "");
    assert_string_equal(xml_text_or(root, "Empty2", "?"), "");
    assert_string_equal(xml_text_or(root, "Absent", "?"), "?");
    assert_null(xml_first(root, "Groups/member/Name/below"));
    assert_null(xml_first(NULL, "Groups"));
    assert_ptr_equal(xml_first(root, ""), root);
}

static void says_which_text_is_missing(void **state)
{
    static const struct {
        const char *path;
        const char *want;
    } cases[] = {
        { "b/c", "b/c: \"x\" is no whole number" },
        { "b", "b: is missing" },
        { "d", "d: is missing" },
        { "e", "e: is missing" },
        { "f", "f: \"99999999999999999999\" is no whole number" },
    };
    owned(xml_document) struct xml_document *document = parse(
        "<a><b><c>x</c></b><d/><f>99999999999999999999</f></a>", NULL);
    int64_t number = 5;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };

        assert_int_equal(xml_need_int(xml_root(document), cases[i].path, &number, &err), -1);
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(err.kind, ERROR_CORRUPT);
        assert_int_equal(number, 5);
    }
}

static const struct {
    const char *chars;
    const char *want;
} bad[] = {
    { "", "answer:1: it has no element" },
    { "<!-- -->", "answer:1: it has no element" },
    { "text", "answer:1: text outside the document's element" },
    { "<a/>b", "answer:1: text outside the document's element" },
    { "<a/><b/>", "answer:1: a second element beside the document's" },
    { "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
      "answer:1: a DOCTYPE or CDATA, which no answer needs" },
    { "<a>\n<![CDATA[b]]></a>", "answer:2: a DOCTYPE or CDATA, which no answer needs" },
    { "<a><b>", "answer:1: it ends within an element" },
    { "<a>b", "answer:1: it ends within an element" },
    { "<a><b></a></b>", "answer:1: an end tag of another element" },
    { "<x:a></y:a>", "answer:1: an end tag of another element" },
    { "<ab></a>", "answer:1: an end tag of another element" },
    { "</a>", "answer:1: an end tag without its start" },
    { "<a></a", "answer:1: an end tag that is not closed" },
    { "<a", "answer:1: a start tag that is not closed" },
    { "<a b", "answer:1: an attribute without a value" },
    { "<a b=c>", "answer:1: an attribute whose value has no quotes" },
    { "<a b='c", "answer:1: an attribute that does not end" },
    { "<a b='c'd='e'/>", "answer:1: a start tag that is not closed" },
    { "<a b='<'/>", "answer:1: < in an attribute" },
    { "<", "answer:1: < without a name" },
    { "< a/>", "answer:1: < without a name" },
    { "<x:/>", "answer:1: an element without a name" },
    { "<!-- ", "answer:1: a comment that does not end" },
    { "<?xml ", "answer:1: an instruction that does not end" },
    { "<a>b<c/></a>", "answer:1: text beside elements" },
    { "<a><c/>b</a>", "answer:1: text beside elements" },
    { "<a>&b;</a>", "answer:1: an entity that XML does not define" },
    { "<a>&</a>", "answer:1: & without the name of an entity" },
    { "<a>&;</a>", "answer:1: & without the name of an entity" },
    { "<a>&#;</a>", "answer:1: a reference to no character" },
    { "<a>&#x;</a>", "answer:1: a reference to no character" },
    { "<a>&#1a;</a>", "answer:1: a reference that is no number of a character" },
    { "<a>&#0;</a>", "answer:1: a reference to a character that XML does not have" },
    { "<a>&#xD800;</a>", "answer:1: a reference to a character that XML does not have" },
    { "<a>&#x110000;</a>", "answer:1: a reference to a character that XML does not have" },
    { "<a>&#99999999999;</a>", "answer:1: a reference that is no number of a character" },
    { "<a>\x01</a>", "answer:1: a control character" },
    { "<a>\xff</a>", "answer: not UTF-8" },
    { "<a>\xc3</a>", "answer: not UTF-8" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = { 0 };

        print_message("    %s\n", bad[i].chars);
        assert_null(parse(bad[i].chars, &err));
        assert_string_equal(err.text, bad[i].want);
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
}

static void refuses_a_null_byte(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_null(xml_parse("<a>\0</a>", 8, "answer", &err));
    assert_string_equal(err.text, "answer: not UTF-8");
}

static char *nested(size_t depth)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (size_t i = 0; i < depth; i++)
        text_add(out, "<a>");
    for (size_t i = 0; i < depth; i++)
        text_add(out, "</a>");
    return text_take(out);
}

static void has_limits(void **state)
{
    struct error err = { 0 };
    owned(chars) char *deepest = nested(XML_DEPTH_MAX);
    owned(chars) char *deeper = nested(XML_DEPTH_MAX + 1);
    owned(xml_document) struct xml_document *document = parse(deepest, &err);
    char *large = mem_new(XML_SIZE_MAX + 2);

    (void)state;
    assert_non_null(document);
    assert_null(parse(deeper, &err));
    assert_string_equal(err.text, "answer:1: elements within elements, more than 64 deep");
    memset(large, ' ', XML_SIZE_MAX + 1);
    memcpy(large, "<a/>", 4);
    assert_null(xml_parse(large, XML_SIZE_MAX + 1, "answer", &err));
    assert_string_equal(err.text, "answer: too large");
    for (size_t i = 0; i < XML_ELEMENTS_MAX + 1; i++)
        memcpy(large + 4 * i, "<a/>", 4);
    assert_null(xml_parse(large, (size_t)4 * (XML_ELEMENTS_MAX + 1), "answer", &err));
    assert_string_equal(err.text, "answer: too large");
    mem_free(large);
}

/* A connection may end anywhere. */
static void refuses_each_prefix(void **state)
{
    static const char whole[] = "<?xml version='1.0'?><A x='1'><B>c&amp;d</B><C/><!-- e --></A>";

    (void)state;
    for (size_t size = 0; size < strlen(whole); size++) {
        struct error err = { 0 };

        assert_null(xml_parse(whole, size, "answer", &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
    owned(xml_document) struct xml_document *document = parse(whole, NULL);

    assert_string_equal(xml_text_or(xml_root(document), "B", ""), "c&d");
}

/* Any change of bytes is read or refused; the sanitizers watch. */
static void survives_changed_bytes(void **state)
{
    static const char whole[] =
        "<?xml version='1.0'?><A x='1'><B>c&amp;d&#65;</B><C/><!-- e --><D><E>1</E></D></A>";
    static const char bytes[] = "<>/&;#x!?-='\" aAB:\xc3\xa9";
    struct random random = { 0 };
    int read = 0;

    (void)state;
    random_seed(&random, 7);
    for (int i = 0; i < 100000; i++) {
        char changed[sizeof whole];
        struct error err = { 0 };

        memcpy(changed, whole, sizeof whole);
        for (uint64_t n = random_below(&random, 4) + 1; n > 0; n--)
            changed[random_below(&random, sizeof whole - 1)] =
                bytes[random_below(&random, sizeof bytes - 1)];

        owned(xml_document) struct xml_document *document = xml_parse(changed, strlen(whole),
                                                                      "answer", &err);

        assert_int_equal(document == NULL, err.kind != ERROR_NONE);
        read += document != NULL;
    }
    assert_true(read > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_answer),
        cmocka_unit_test(says_which_text_is_missing),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_a_null_byte),
        cmocka_unit_test(has_limits),
        cmocka_unit_test(refuses_each_prefix),
        cmocka_unit_test(survives_changed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
