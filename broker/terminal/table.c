/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See table.h.
 */
#include "broker/terminal/table.h"

#include "base/array.h"
#include "base/text.h"
#include "broker/terminal/columns.h"
#include "broker/terminal/times.h"

#include <stdarg.h>
#include <string.h>

enum { CELL_SIZE = 512, NAME_LEAST = 16 };

struct table {
    ARRAY(const char *) titles;
    size_t columns;
    ARRAY(char *) cells;
};

struct table *table_new(const char *const *titles)
{
    struct table *table = mem_new(sizeof *table);

    for (; *titles; titles++)
        *array_add(&table->titles) = *titles;
    table->columns = table->titles.count;
    require(table->columns > 0);
    return table;
}

void table_insert(struct table *table, const char *title)
{
    const char *last = table->titles.items[table->columns - 1];

    require(table->cells.count == 0);
    table->titles.items[table->columns - 1] = title;
    *array_add(&table->titles) = last;
    table->columns++;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cells.count; i++)
        mem_free(table->cells.items[i]);
    array_clear(&table->cells);
    array_clear(&table->titles);
    mem_free(table);
}

void table_cell(struct table *table, const char *format, ...)
{
    char cell[CELL_SIZE];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(cell, sizeof cell, format, arguments);
    va_end(arguments);
    text_tame(cell, false);
    *array_add(&table->cells) = times_local(cell); /* before it is as wide as its column */
}

static bool is_number(const struct table *table, size_t column)
{
    return table->titles.items[column][0] == '>';
}

static bool is_name(const struct table *table, size_t column)
{
    return table->titles.items[column][0] == '<';
}

static const char *title(const struct table *table, size_t column)
{
    return table->titles.items[column] + (is_number(table, column) || is_name(table, column));
}

static size_t width_of(const char *cell)
{
    return columns_of(cell, strlen(cell));
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The columns' widths; the caller clears them. */
struct widths {
    ARRAY(size_t) of;
};

static struct widths measure(const struct table *table)
{
    struct widths widths = { 0 };

    for (size_t column = 0; column < table->columns; column++) {
        size_t widest = width_of(title(table, column));

        for (size_t i = column; i < table->cells.count; i += table->columns) {
            size_t width = width_of(table->cells.items[i]);

            widest = width > widest ? width : widest;
        }
        *array_add(&widths.of) = widest;
    }
    return widths;
}

/* The columns that a row takes when no name is wider than `name_max`. */
static size_t row_width(const struct table *table, const struct widths *widths, size_t name_max)
{
    size_t sum = (table->columns - 1) * 2;

    for (size_t column = 0; column < table->columns; column++)
        sum += is_name(table, column) ? least(widths->of.items[column], name_max)
                                      : widths->of.items[column];
    return sum;
}

/* Makes columns of names as narrow as they have to be. */
static void fit(const struct table *table, struct widths *widths, size_t columns)
{
    size_t name_max = columns;

    while (name_max > NAME_LEAST && row_width(table, widths, name_max) > columns)
        name_max--;
    for (size_t column = 0; column < table->columns; column++)
        if (is_name(table, column))
            widths->of.items[column] = least(widths->of.items[column], name_max);
}

static void print_cell(const struct table *table, size_t column, const struct widths *widths,
                       const char *text, struct text *out)
{
    owned(chars) char *shown = is_name(table, column)
                                   ? columns_shorten(text, widths->of.items[column])
                                   : mem_copy_chars(text);
    bool is_last = column + 1 == table->columns;
    int room = is_last && !is_number(table, column)
                   ? 0
                   : (int)(widths->of.items[column] - width_of(shown));

    if (is_number(table, column))
        text_add(out, "%*s%s%s", room, "", shown, is_last ? "" : "  ");
    else
        text_add(out, "%s%*s%s", shown, room, "", is_last ? "" : "  ");
}

void table_print(const struct table *table, struct text *out)
{
    table_show(table, (struct table_style){ 0 }, out);
}

void table_show(const struct table *table, struct table_style style, struct text *out)
{
    struct widths widths;

    require(table->cells.count % table->columns == 0); /* whole rows */
    widths = measure(table);
    if (style.columns > 0)
        fit(table, &widths, style.columns);
    for (size_t column = 0; !style.is_bare && column < table->columns; column++)
        print_cell(table, column, &widths, title(table, column), out);
    if (!style.is_bare)
        text_add(out, "\n");
    for (size_t i = 0; i < table->cells.count; i++) {
        print_cell(table, i % table->columns, &widths, table->cells.items[i], out);
        if (i % table->columns + 1 == table->columns)
            text_add(out, "\n");
    }
    array_clear(&widths.of);
}
