/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What printf does, with text cut at characters: "%.120s" of the C library cuts at bytes, and half
 * a character must never be printed.  All formatting of the product goes through here.
 */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_SIZE = 512, SPEC_SIZE = 48, DIGITS_MAX = 12 };

/* Of an integer, in the C library's letters. */
enum number_size { SIZE_INT, SIZE_LONG, SIZE_LONG_LONG, SIZE_SIZE, SIZE_MAX_INT, SIZE_POINTER };

/* One conversion: "%-*.3f". */
struct spec {
    const char *flags;
    size_t flag_count;
    int width;     /* 0: none */
    int precision; /* -1: none */
    bool is_slice; /* the precision was given as an argument */
    enum number_size size;
    char letter;
};

struct printer {
    struct text *out;
    const char *at; /* in the format */
    va_list arguments;
};

static int read_digits(struct printer *printer)
{
    int number = 0;

    for (; *printer->at >= '0' && *printer->at <= '9'; printer->at++) {
        require(number < INT32_MAX / 10 - 1);
        number = number * 10 + (*printer->at - '0');
    }
    return number;
}

static int read_number(struct printer *printer, bool *ret_is_argument)
{
    *ret_is_argument = *printer->at == '*';
    if (!*ret_is_argument)
        return read_digits(printer);
    printer->at++;
    return va_arg(printer->arguments, int);
}

/* What is smaller than an int comes as one. */
static enum number_size read_size(struct printer *printer)
{
    size_t length = strspn(printer->at, "hlzjt");
    char letter = *printer->at;

    printer->at += length;
    if (letter == 'l')
        return length == 2 ? SIZE_LONG_LONG : SIZE_LONG;
    return letter == 'z'   ? SIZE_SIZE
           : letter == 'j' ? SIZE_MAX_INT
           : letter == 't' ? SIZE_POINTER
                           : SIZE_INT;
}

/* Reads the rest of a conversion, after the '%'. */
static struct spec read_spec(struct printer *printer)
{
    struct spec spec = { .flags = printer->at, .precision = -1 };
    bool is_argument;

    spec.flag_count = strspn(printer->at, "-+ #0");
    require(spec.flag_count <= 5);
    printer->at += spec.flag_count;
    spec.width = read_number(printer, &is_argument);
    if (*printer->at == '.') {
        printer->at++;
        spec.precision = read_number(printer, &spec.is_slice);
    }
    spec.size = read_size(printer);
    spec.letter = *printer->at++;
    require(spec.letter != '\0');
    return spec;
}

static void add_spaces(struct text *out, size_t count)
{
    static const char spaces[] = "                                ";

    for (; count > sizeof spaces - 1; count -= sizeof spaces - 1)
        text_add_bytes(out, spaces, sizeof spaces - 1);
    text_add_bytes(out, spaces, count);
}

static void add_chars(struct printer *printer, const struct spec *spec)
{
    const char *chars = va_arg(printer->arguments, const char *);
    bool is_left = spec->width < 0 || memchr(spec->flags, '-', spec->flag_count);
    size_t width = (size_t)(spec->width < 0 ? -spec->width : spec->width);
    size_t length;

    if (!chars)
        chars = "(null)";
    length = spec->precision < 0 ? strlen(chars)
             : spec->is_slice    ? strnlen(chars, (size_t)spec->precision)
                                 : text_cut(chars, (size_t)spec->precision);
    if (!is_left && length < width)
        add_spaces(printer->out, width - length);
    text_add_bytes(printer->out, chars, length);
    if (is_left && length < width)
        add_spaces(printer->out, width - length);
}

static intmax_t take_signed(struct printer *printer, enum number_size size)
{
    switch (size) {
    case SIZE_LONG:
        return va_arg(printer->arguments, long);
    case SIZE_LONG_LONG:
        return va_arg(printer->arguments, long long);
    case SIZE_SIZE:
        return va_arg(printer->arguments, ssize_t);
    case SIZE_MAX_INT:
        return va_arg(printer->arguments, intmax_t);
    case SIZE_POINTER:
        return va_arg(printer->arguments, ptrdiff_t);
    case SIZE_INT:
        break;
    }
    return va_arg(printer->arguments, int);
}

static uintmax_t take_unsigned(struct printer *printer, enum number_size size)
{
    switch (size) {
    case SIZE_LONG:
        return va_arg(printer->arguments, unsigned long);
    case SIZE_LONG_LONG:
        return va_arg(printer->arguments, unsigned long long);
    case SIZE_SIZE:
        return va_arg(printer->arguments, size_t);
    case SIZE_MAX_INT:
        return va_arg(printer->arguments, uintmax_t);
    case SIZE_POINTER:
        return (uintmax_t)va_arg(printer->arguments, ptrdiff_t);
    case SIZE_INT:
        break;
    }
    return va_arg(printer->arguments, unsigned);
}

/* The conversion for the C library, without the parts that came from an argument: "%-8.3jd". */
static void write_spec(const struct spec *spec, const char *size, char out[SPEC_SIZE])
{
    char width[DIGITS_MAX] = "";
    char precision[DIGITS_MAX + 1] = "";

    if (spec->width != 0)
        snprintf(width, sizeof width, "%d", spec->width);
    if (spec->precision >= 0)
        snprintf(precision, sizeof precision, ".%d", spec->precision);
    snprintf(out, SPEC_SIZE, "%%%.*s%s%s%s%c", (int)spec->flag_count, spec->flags, width, precision,
             size, spec->letter);
}

/* The format is made of one that the compiler has checked. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void add_number(struct printer *printer, const struct spec *spec)
{
    char number[NUMBER_SIZE];
    char format[SPEC_SIZE];
    int length;

    switch (spec->letter) {
    case 'd':
    case 'i':
        write_spec(spec, "j", format);
        length = snprintf(number, sizeof number, format, take_signed(printer, spec->size));
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        write_spec(spec, "j", format);
        length = snprintf(number, sizeof number, format, take_unsigned(printer, spec->size));
        break;
    case 'c':
        write_spec(spec, "", format);
        length = snprintf(number, sizeof number, format, va_arg(printer->arguments, int));
        break;
    case 'p':
        write_spec(spec, "", format);
        length = snprintf(number, sizeof number, format, va_arg(printer->arguments, void *));
        break;
    default:
        require(strchr("eEfFgG", spec->letter));
        write_spec(spec, "", format);
        length = snprintf(number, sizeof number, format, va_arg(printer->arguments, double));
        break;
    }
    require(length >= 0 && length < NUMBER_SIZE);
    text_add_bytes(printer->out, number, (size_t)length);
}
#pragma GCC diagnostic pop

static void add_one(struct printer *printer)
{
    struct spec spec = read_spec(printer);

    if (spec.letter == '%')
        text_add_bytes(printer->out, "%", 1);
    else if (spec.letter == 's')
        add_chars(printer, &spec);
    else
        add_number(printer, &spec);
}

void text_add_arguments(struct text *text, const char *format, va_list arguments)
{
    struct printer printer = { .out = text, .at = format };
    bool was_cut = text->is_cut;

    va_copy(printer.arguments, arguments);
    while (*printer.at) {
        size_t plain = strcspn(printer.at, "%");

        text_add_bytes(text, printer.at, plain);
        printer.at += plain;
        if (*printer.at++ == '%')
            add_one(&printer);
        else
            break;
    }
    va_end(printer.arguments);
    if (text->is_cut && !was_cut)
        text_end_at(text, text_whole(text->chars, text->length));
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_add_arguments(text, format, arguments);
    va_end(arguments);
}

char *text_format(const char *format, ...)
{
    struct text *text = text_new(TEXT_UNBOUNDED);
    va_list arguments;

    va_start(arguments, format);
    text_add_arguments(text, format, arguments);
    va_end(arguments);
    return text_take(text);
}

bool text_print_arguments(char *out, size_t size, const char *format, va_list arguments)
{
    /* its limit keeps it within the caller's buffer, which it never has to reallocate */
    struct text text = { .chars = out, .size = size, .limit = size - 1 };

    require(size > 0);
    out[0] = '\0';
    text_add_arguments(&text, format, arguments);
    return !text.is_cut;
}

bool text_print(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    bool fits;

    va_start(arguments, format);
    fits = text_print_arguments(out, size, format, arguments);
    va_end(arguments);
    return fits;
}
