/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Auto Scaling says of a group: its numbers, its instances and what its last attempts brought.
 * Pure readers of answers.
 */
#pragma once

#include "base/array.h"
#include "base/input/xml.h"
#include "base/timestamp.h"
#include "providers/common/provider.h"

#include <jansson.h>

/* An instance as its group lists it. */
struct aws_member {
    struct instance instance;
    bool is_leaving; /* Terminating or Terminated: it no longer counts in the size */
    bool is_aside;   /* standby, warmed, detaching: it does not count in the size either */
};

enum { AWS_RESERVATION_SIZE = 64 };

struct aws_reservation {
    char id[AWS_RESERVATION_SIZE];
};

struct aws_group {
    int64_t desired, least, most;
    int64_t present; /* members that count in the size */
    ARRAY(struct aws_member) members;
    ARRAY(struct aws_reservation) reservations; /* the capacity reservations that it names by ID */
    bool can_launch;       /* made from a launch template: LaunchInstances is possible */
    bool protects_new;     /* from scale-in */
    bool is_deleted;       /* or is being deleted */
    bool never_launches;   /* the process Launch is suspended */
    bool never_terminates; /* the process Terminate is suspended */
};

/* The element of the group with that name, in an answer to DescribeAutoScalingGroups; NULL: the
   page does not have it. */
const struct xml_element *aws_group_find(const struct xml_element *answer, const char *name);

/* A page whose group cannot be read whole is ERROR_CORRUPT.  The caller clears the group. */
int aws_group_read(const struct xml_element *element, struct aws_group *ret_group,
                   struct error *err) __attribute__((warn_unused_result));
void aws_group_clear(struct aws_group *group);

/* From when instances of the group are gone, from an answer to DescribeCapacityReservations: the
   earliest end of its reservations, and before that where it is a Capacity Block, whose instances
   EC2 ends earlier.  0: none has an end.  ERROR_CORRUPT: the answer does not tell of each. */
int aws_reservations_end(const struct xml_element *answer, const struct aws_group *group,
                         struct wall_time *ret_ends, struct error *err)
    __attribute__((warn_unused_result));

/* The element of the reservation in such an answer; NULL: it has none. */
const struct xml_element *aws_reservation_find(const struct xml_element *answer,
                                               const char *reservation);

/* The instance with that ID in an answer to DescribeAutoScalingInstances.  1: it is a member; 0: it
   is not; -1: the answer makes no sense. */
int aws_member_read(const struct xml_element *answer, const char *instance,
                    struct aws_member *ret_member, struct error *err)
    __attribute__((warn_unused_result));

/* The name of that instance's group, in the same answer; "": it is in none.  Borrowed from the
   answer.  -1: the answer makes no sense. */
int aws_member_group(const struct xml_element *answer, const char *instance, const char **ret_group,
                     struct error *err) __attribute__((warn_unused_result));

/* NULL: it is no member. */
const struct aws_member *aws_group_member(const struct aws_group *group, const char *instance);

/* Why the newest attempt to launch an instance that began at or after `since` brought none, from
   the first page of DescribeScalingActivities; ERROR_NONE: not known, or it brought one. */
void aws_group_trouble(const struct xml_element *answer, struct wall_time since,
                       struct error *ret_trouble);

/* What became of the attempts to launch instances that began at or after `since`, from the first
   page of DescribeScalingActivities. */
struct aws_attempts {
    int64_t coming;  /* go on, or brought an instance that the group does not list (yet) */
    bool has_failed; /* at least one brought none */
};
struct aws_attempts aws_group_attempts(const struct xml_element *answer,
                                       const struct aws_group *group, struct wall_time since);

/* What EKS says is wrong with the node group, from the answer to DescribeNodegroup; ERROR_NONE:
   nothing that keeps instances away. */
void aws_nodegroup_trouble(const json_t *answer, struct error *ret_trouble);

static inline void owned_aws_group(struct aws_group *group)
{
    aws_group_clear(group);
}
