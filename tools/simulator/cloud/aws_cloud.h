/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake of AWS share.  It answers below /aws/SERVICE: autoscaling, ec2, eks,
 * sts and iam.  Keys: those of sim_aws_key_id, and what its sts gives out.
 */
#pragma once

#include "tools/simulator/model/model.h"

enum sim_aws_service { SIM_AUTOSCALING, SIM_EC2, SIM_EKS, SIM_STS, SIM_IAM, SIM_AWS_SERVICES };

/* Lasting keys. */
extern const char sim_aws_key_id[];
extern const char sim_aws_secret[];

struct sim_aws_call {
    struct sim_call *call;
    enum sim_aws_service service;
    char *form; /* "/?NAME=VALUE&...": for url_query(); "" for EKS */
};

/* One action of a form.  In `known`, # stands for a number. */
struct sim_aws_action {
    enum sim_aws_service service;
    const char *name;
    const char *verb; /* of faults */
    void (*answer)(struct sim_aws_call *aws);
    const char *known[8];
    bool is_unsigned;
};

extern const struct sim_aws_action sim_aws_actions[]; /* name NULL at the end */

/* aws_auth.c: false: answered */
bool sim_aws_is_signed(struct sim_aws_call *aws);

/* aws_api.c */
extern const struct sim_aws_names {
    const char *path; /* "autoscaling" */
    const char *space;
} sim_aws_names[SIM_AWS_SERVICES];
void sim_aws_error(struct sim_aws_call *aws, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The meanings that each service has its own code for. */
enum sim_aws_refusal {
    SIM_AWS_RATE,
    SIM_AWS_BROKEN,
    SIM_AWS_FORBIDDEN,
    SIM_AWS_INVALID,
    SIM_AWS_BUSY
};
void sim_aws_refuse(struct sim_aws_call *aws, enum sim_aws_refusal refusal, const char *why);
/* Whether the accounts of AWS in sluice.yaml may use an action of the service; false: answered. */
bool sim_aws_may_use(struct sim_aws_call *aws, const char *action);
bool sim_aws_denies(struct simulator *sim, const char *permission);
char *sim_aws_field(struct sim_aws_call *aws, const char *name); /* NULL: it has none */
void sim_aws_escape(struct text *out, const char *chars);
/* <NAMEResponse><NAMEResult>BODY</NAMEResult>...: a success.  Takes the body; NULL: the action has
   no result in AWS's model; "": a result without members. */
void sim_aws_answer(struct sim_aws_call *aws, const char *name, struct text *body);
/* What world.yaml has below aws: POOL: key; NULL: nothing. */
const char *sim_aws_trap(const struct pool *pool, struct simulator *sim, const char *key);
bool sim_aws_has(const struct pool *pool, struct simulator *sim, const char *key);
long long sim_aws_number(const struct pool *pool, struct simulator *sim, const char *key,
                         long long otherwise);

/* aws_groups.c */
/* What UpdateNodegroupConfig has set; kept in sim->operations as "aws-bounds:POOL". */
struct sim_aws_bounds {
    int least, most;
};
void sim_aws_describe_groups(struct sim_aws_call *aws);
void sim_aws_describe_members(struct sim_aws_call *aws);
bool sim_aws_is_held(struct simulator *sim, const struct machine *machine);
void sim_aws_print_member(const struct machine *machine, struct text *out);
struct pool *sim_aws_pool(struct sim_aws_call *aws); /* by AutoScalingGroupName; NULL: answered */
int sim_aws_least(const struct pool *pool, struct simulator *sim);
int sim_aws_most(const struct pool *pool, struct simulator *sim);
void sim_aws_describe_hooks(struct sim_aws_call *aws);
void sim_aws_describe_refreshes(struct sim_aws_call *aws);
void sim_aws_describe_activities(struct sim_aws_call *aws);

/* aws_resize.c */
void sim_aws_terminate(struct sim_aws_call *aws);
void sim_aws_launch(struct sim_aws_call *aws);
void sim_aws_set_desired(struct sim_aws_call *aws);
void sim_aws_protect(struct sim_aws_call *aws);
void sim_aws_scale(struct simulator *sim, struct pool *pool, int wanted);
bool sim_aws_resize(struct sim_aws_call *aws, struct pool *pool, int wanted);

/* aws_machines.c */
void sim_aws_describe_instances(struct sim_aws_call *aws);
void sim_aws_describe_reservations(struct sim_aws_call *aws);
const char *sim_aws_why(enum trouble trouble, const char **ret_code);

/* aws_nodegroups.c */
void sim_aws_answer_eks(struct sim_aws_call *aws);

/* aws_sts.c */
struct sim_aws_session {
    int64_t ends_ms;
    char secret[44];
    char token[64];
    char role[256]; /* ARN */
    char arn[256];  /* of the session */
};
struct sim_aws_session *sim_aws_session(struct simulator *sim, const char *key_id);
void sim_aws_assume_role(struct sim_aws_call *aws);
void sim_aws_assume_identity(struct sim_aws_call *aws);
void sim_aws_caller_identity(struct sim_aws_call *aws);
void sim_aws_simulate_policy(struct sim_aws_call *aws);
