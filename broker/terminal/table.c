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

enum { CELL_SIZE = 512 };

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

static const char *title(const struct table *table, size_t column)
{
    const char *text = table->titles.items[column];

    return text[0] == '>' ? text + 1 : text;
}

static size_t width_of(const char *cell)
{
    return columns_of(cell, strlen(cell));
}

static size_t width(const struct table *table, size_t column)
{
    size_t widest = width_of(title(table, column));

    for (size_t i = column; i < table->cells.count; i += table->columns)
        if (width_of(table->cells.items[i]) > widest)
            widest = width_of(table->cells.items[i]);
    return widest;
}

static void print_cell(const struct table *table, size_t column, const char *text, struct text *out)
{
    bool is_last = column + 1 == table->columns;
    bool is_number = table->titles.items[column][0] == '>';
    int room = is_last && !is_number ? 0 : (int)(width(table, column) - width_of(text));

    if (is_number)
        text_add(out, "%*s%s%s", room, "", text, is_last ? "" : "  ");
    else
        text_add(out, "%s%*s%s", text, room, "", is_last ? "" : "  ");
}

static void print_titles(const struct table *table, struct text *out)
{
    for (size_t column = 0; column < table->columns; column++)
        print_cell(table, column, title(table, column), out);
    text_add(out, "\n");
}

void table_print(const struct table *table, struct text *out)
{
    table_show(table, (struct table_style){ 0 }, out);
}

void table_show(const struct table *table, struct table_style style, struct text *out)
{
    require(table->cells.count % table->columns == 0); /* whole rows */
    if (!style.is_bare)
        print_titles(table, out);
    for (size_t i = 0; i < table->cells.count; i++) {
        print_cell(table, i % table->columns, table->cells.items[i], out);
        if (i % table->columns + 1 == table->columns)
            text_add(out, "\n");
    }
}
