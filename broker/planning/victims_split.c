/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Busy nodes that share no gang do not know of each other: the fleet falls into parts.  For each
 * part it is found out what its cheapest 1, 2, ... nodes cost (all subsets of small parts, one
 * greedy order of great ones), and how many come from which part is a knapsack: single nodes by
 * price, the parts around the critical density by dynamic programming, the clearly cheap ones
 * whole.
 */
#include "base/array.h"
#include "broker/planning/victims_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    SUBSET_NODES = 12,   /* parts up to this size are solved by all their subsets */
    SUBSET_GANGS = 64,   /* bits of a mask */
    SUBSET_PARTS = 1500, /* how many of them at most */
    WINDOW_NODES = 1024, /* on each side of the critical density */
};

struct part {
    size_t *nodes; /* in all_nodes; prefixes are the sets when masks is NULL */
    size_t count;
    int64_t *cost;   /* of 0..count nodes */
    uint32_t *masks; /* per number of nodes: which */
};

struct split {
    struct victim_pick *pick;
    size_t *all_nodes; /* busy nodes, part by part */
    size_t node_count;
    ARRAY(struct part) parts;
    size_t subset_parts;
    size_t wanted;
};

/* ---- the parts ---- */

static size_t root_of(size_t *parent, size_t node)
{
    while (parent[node] != node) {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    return node;
}

static bool is_live(const struct victim_pick *pick, size_t gang)
{
    return pick->hits[gang] == 0 && pick->model->weight[gang] > 0;
}

/* The smallest node index of each node's part, over the gangs that are not lost already. */
static size_t *find_roots(const struct victim_pick *pick)
{
    const struct victim_model *model = pick->model;
    size_t *parent = mem_new_array(model->scene->node_count, sizeof *parent);

    for (size_t i = 0; i < model->scene->node_count; i++)
        parent[i] = i;
    for (size_t g = 0; g < model->scene->gang_count; g++) {
        size_t first = SIZE_MAX;

        for (size_t i = model->gang_from[g]; is_live(pick, g) && i < model->gang_from[g + 1]; i++) {
            size_t root;

            if (pick->taken[model->gang_nodes[i]])
                continue;
            root = root_of(parent, model->gang_nodes[i]);
            if (first == SIZE_MAX)
                first = root;
            else if (root < first)
                first = parent[first] = root;
            else
                parent[root] = first;
        }
    }
    for (size_t i = 0; i < model->scene->node_count; i++)
        parent[i] = root_of(parent, i);
    return parent;
}

struct rooted {
    size_t root;
    size_t node;
};

static int by_root(const void *left, const void *right)
{
    const struct rooted *a = left;
    const struct rooted *b = right;

    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return a->node < b->node ? -1 : 1;
}

static void find_parts(struct split *split)
{
    const struct victim_case *scene = split->pick->model->scene;
    size_t *roots = find_roots(split->pick);
    struct rooted *rooted = mem_new_array(scene->node_count, sizeof *rooted);

    for (size_t i = 0; i < scene->node_count; i++)
        if (!split->pick->taken[i])
            rooted[split->node_count++] = (struct rooted){ roots[i], i };
    if (split->node_count > 1)
        qsort(rooted, split->node_count, sizeof *rooted, by_root);
    split->all_nodes = mem_new_array(split->node_count, sizeof *split->all_nodes);
    for (size_t i = 0; i < split->node_count; i++) {
        split->all_nodes[i] = rooted[i].node;
        if (i == 0 || rooted[i].root != rooted[i - 1].root)
            array_add(&split->parts)->nodes = &split->all_nodes[i];
        split->parts.items[split->parts.count - 1].count++;
    }
    mem_free(rooted);
    mem_free(roots);
}

/* ---- what a part costs ---- */

/* One bit for each live gang of the part: per node the gangs on it.  False: too many. */
static bool number_gangs(const struct split *split, const struct part *part, uint64_t *on_node,
                         int64_t *weights)
{
    size_t gangs[SUBSET_GANGS];
    size_t count = 0;

    for (size_t i = 0; i < part->count; i++) {
        const struct victim_node *node = &split->pick->model->scene->nodes[part->nodes[i]];

        on_node[i] = 0;
        for (size_t k = 0; k < node->gang_count; k++) {
            size_t at = 0;

            if (!is_live(split->pick, node->gangs[k]))
                continue;
            while (at < count && gangs[at] != node->gangs[k])
                at++;
            if (at == SUBSET_GANGS)
                return false;
            gangs[at] = node->gangs[k];
            weights[at] = split->pick->model->weight[node->gangs[k]];
            count = at == count ? count + 1 : count;
            on_node[i] |= (uint64_t)1 << at;
        }
    }
    return true;
}

/* Every subset from the one without its lowest node. */
static bool price_subsets(struct split *split, struct part *part)
{
    uint64_t on_node[SUBSET_NODES];
    int64_t weights[SUBSET_GANGS];
    size_t sets = (size_t)1 << part->count;
    uint64_t *gangs;
    int64_t *cost;

    if (part->count > SUBSET_NODES || split->subset_parts == SUBSET_PARTS ||
        !number_gangs(split, part, on_node, weights))
        return false;
    split->subset_parts++;
    gangs = mem_new_array(sets, sizeof *gangs);
    cost = mem_new_array(sets, sizeof *cost);
    part->masks = mem_new_array(part->count + 1, sizeof *part->masks);
    for (size_t j = 1; j <= part->count; j++)
        part->cost[j] = INT64_MAX;
    for (uint32_t set = 1; set < sets; set++) {
        uint32_t rest = set & (set - 1);
        size_t size = (size_t)__builtin_popcount(set);

        gangs[set] = gangs[rest] | on_node[__builtin_ctz(set)];
        cost[set] = cost[rest];
        for (uint64_t more = gangs[set] & ~gangs[rest]; more != 0; more &= more - 1)
            cost[set] += weights[__builtin_ctzll(more)];
        if (cost[set] < part->cost[size]) {
            part->cost[size] = cost[set];
            part->masks[size] = set;
        }
    }
    mem_free(gangs);
    mem_free(cost);
    return true;
}

static void price_prefixes(const struct split *split, struct part *part)
{
    struct victim_pick pick;

    victims_greedy_order(split->pick->model, part->nodes, part->count);
    victim_pick_init(&pick, split->pick->model);
    memcpy(pick.hits, split->pick->hits, split->pick->model->scene->gang_count * sizeof *pick.hits);
    for (size_t j = 0; j < part->count; j++) {
        victim_pick_add(&pick, part->nodes[j]);
        part->cost[j + 1] = pick.lost;
    }
    victim_pick_clear(&pick);
}

/* All nodes have the same live gangs: any node costs the whole loss. */
static bool is_alike(const struct split *split, const struct part *part)
{
    const struct victim_model *model = split->pick->model;

    for (size_t i = 0; i < part->count; i++) {
        const struct victim_node *node = &model->scene->nodes[part->nodes[i]];

        for (size_t k = 0; k < node->gang_count; k++) {
            size_t gang = node->gangs[k];

            if (is_live(split->pick, gang) &&
                model->gang_from[gang + 1] - model->gang_from[gang] != part->count)
                return false;
        }
    }
    return true;
}

static void price_part(struct split *split, struct part *part)
{
    part->cost = mem_new_array(part->count + 1, sizeof *part->cost);
    if (part->count == 1 || is_alike(split, part)) {
        for (size_t j = 1; j <= part->count; j++)
            part->cost[j] = victim_pick_marginal(split->pick, part->nodes[0]);
    } else if (!price_subsets(split, part)) {
        price_prefixes(split, part);
    }
}

/* ---- how many from which part ---- */

static double density(const struct part *part)
{
    return (double)part->cost[part->count] / (double)part->count;
}

static int by_part_density(const void *left, const void *right)
{
    const struct part *a = left;
    const struct part *b = right;
    double density_a = density(a);
    double density_b = density(b);

    if (density_a != density_b)
        return density_a < density_b ? -1 : 1;
    return a->nodes[0] < b->nodes[0] ? -1 : 1;
}

static void take_from(struct split *split, const struct part *part, size_t count)
{
    for (size_t i = 0, taken = 0; taken < count; i++) {
        require(i < part->count);
        if (part->masks && (part->masks[count] >> i & 1) == 0)
            continue;
        victim_pick_add(split->pick, part->nodes[i]);
        taken++;
    }
}

/* The knapsack: `parts` of more than one node whose density is near the limit, so that either
   choice is possible; and `singles`, all parts of one node, the cheapest first. */
struct sack {
    const struct part **parts;
    size_t count;
    size_t nodes; /* of those parts */
    const struct part **singles;
    size_t single_count;
    size_t wanted;
};

/* best[x]: the least cost of x nodes from the parts seen so far; from[i][x]: how many of them the
   part i gives. */
static void fill_sack(const struct sack *sack, size_t most, int64_t *best, uint32_t *from)
{
    size_t reach = 0;

    for (size_t i = 0; i < sack->count; i++) {
        const struct part *part = sack->parts[i];
        uint32_t *mine = &from[i * (most + 1)];
        size_t next = reach + part->count < most ? reach + part->count : most;

        for (size_t x = next + 1; x-- > 0;) {
            int64_t least = x <= reach ? best[x] : INT64_MAX;
            size_t j_most = part->count < x ? part->count : x;

            mine[x] = 0;
            for (size_t j = x > reach ? x - reach : 1; j <= j_most; j++) {
                if (best[x - j] + part->cost[j] < least) {
                    least = best[x - j] + part->cost[j];
                    mine[x] = (uint32_t)j;
                }
            }
            best[x] = least;
        }
        reach = next;
    }
}

static void solve_sack(struct split *split, const struct sack *sack)
{
    size_t most = sack->nodes < sack->wanted ? sack->nodes : sack->wanted;
    int64_t *best = mem_new_array(most + 1, sizeof *best);
    uint32_t *from = mem_new_array(sack->count * (most + 1) + 1, sizeof *from);
    int64_t *sums = mem_new_array(sack->single_count + 1, sizeof *sums);
    int64_t least = INT64_MAX;
    size_t best_x = 0;

    for (size_t i = 0; i < sack->single_count; i++)
        sums[i + 1] = sums[i] + sack->singles[i]->cost[1];
    fill_sack(sack, most, best, from);
    for (size_t x = 0; x <= most; x++) {
        if (sack->wanted - x > sack->single_count || best[x] + sums[sack->wanted - x] >= least)
            continue;
        least = best[x] + sums[sack->wanted - x];
        best_x = x;
    }
    require(least < INT64_MAX);
    for (size_t i = 0; i < sack->wanted - best_x; i++)
        take_from(split, sack->singles[i], 1);
    for (size_t i = sack->count; i-- > 0;) {
        size_t count = from[i * (most + 1) + best_x];

        require(count <= best_x && count <= sack->parts[i]->count);
        take_from(split, sack->parts[i], count);
        best_x -= count;
    }
    require(best_x == 0);
    mem_free(best);
    mem_free(from);
    mem_free(sums);
}

/* The parts are sorted by density.  Those well before the point where `wanted` nodes are reached
   are taken whole, those well after it are left out, the others form a knapsack. */
static void choose_parts(struct split *split)
{
    struct sack sack = { .wanted = split->wanted };
    size_t critical = 0;
    size_t first;
    size_t last;
    size_t before = 0;
    size_t after = 0;

    for (size_t sum = 0; sum < split->wanted; critical++) {
        require(critical < split->parts.count); /* there are enough */
        sum += split->parts.items[critical].count;
    }
    for (first = critical; first > 0 && before < WINDOW_NODES; first--)
        before += split->parts.items[first - 1].count;
    for (last = critical; last < split->parts.count && after < WINDOW_NODES; last++)
        after += split->parts.items[last].count;
    require(first <= critical && critical <= last);
    sack.parts = mem_new_array(last - first, sizeof *sack.parts);
    sack.singles = mem_new_array(split->parts.count, sizeof *sack.singles);
    for (size_t i = 0; i < split->parts.count; i++) {
        const struct part *part = &split->parts.items[i];

        if (part->count == 1) {
            sack.singles[sack.single_count++] = part;
        } else if (i < first) {
            take_from(split, part, part->count);
            sack.wanted -= part->count;
        } else if (i < last) {
            sack.parts[sack.count++] = part;
            sack.nodes += part->count;
        }
    }
    solve_sack(split, &sack);
    mem_free(sack.parts);
    mem_free(sack.singles);
}

void victims_split(struct victim_pick *pick, size_t wanted)
{
    struct split split = { .pick = pick, .wanted = wanted - pick->count };

    require(pick->count <= wanted && wanted <= pick->model->scene->node_count);
    if (split.wanted == 0)
        return;
    find_parts(&split);
    for (size_t i = 0; i < split.parts.count; i++)
        price_part(&split, &split.parts.items[i]);
    qsort(split.parts.items, split.parts.count, sizeof *split.parts.items, by_part_density);
    choose_parts(&split);
    for (size_t i = 0; i < split.parts.count; i++) {
        mem_free(split.parts.items[i].cost);
        mem_free(split.parts.items[i].masks);
    }
    array_clear(&split.parts);
    mem_free(split.all_nodes);
    require(pick->count == wanted);
}
