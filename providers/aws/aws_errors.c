/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table, first match wins; what no row names follows from the HTTP status.
 */
#include "providers/aws/aws_errors.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

const struct error_cause aws_not_offered = { "the service does not offer this action" };
const struct error_cause aws_not_permitted = { "the keys have no permission for this action" };

enum { RESERVATION_RETRY_MS = 20000, RATE_RETRY_MS = 1000 };

/* A row holds when each of its parts does.  A code that ends in * is the start of one. */
struct row {
    const char *code;    /* NULL: any */
    const char *message; /* contained; NULL: any */
    enum error_kind kind;
    int64_t retry_after_ms;
    const struct error_cause *cause;
};

static const struct row rows[] = {
    /* Our reservation is full, as it is for a while after a removal. */
    { "ReservationCapacityExceeded", NULL, ERROR_NO_CAPACITY, RESERVATION_RETRY_MS, NULL },
    { NULL, "Capacity Reservation does not have sufficient", ERROR_NO_CAPACITY,
      RESERVATION_RETRY_MS, NULL },

    /* The zone has no machine. */
    { "InsufficientInstanceCapacity", NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "InsufficientHostCapacity", NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "InsufficientReservedInstanceCapacity", NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "InsufficientCapacity*", NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "UnfulfillableCapacity", NULL, ERROR_NO_CAPACITY, 0, NULL },
    { NULL, "do not have sufficient", ERROR_NO_CAPACITY, 0, NULL },

    /* Limits of the account. */
    { "VcpuLimitExceeded", NULL, ERROR_DENIED, 0, NULL },
    { "InstanceLimitExceeded", NULL, ERROR_DENIED, 0, NULL },
    { "MaxSpotInstanceCountExceeded", NULL, ERROR_DENIED, 0, NULL },
    { "VolumeLimitExceeded", NULL, ERROR_DENIED, 0, NULL },
    { "InsufficientFreeAddresses*", NULL, ERROR_DENIED, 0, NULL },
    { "LimitExceeded", NULL, ERROR_DENIED, 0, NULL },
    { "Ec2SubnetInvalidConfiguration", NULL, ERROR_DENIED, 0, NULL },
    { NULL, "more vCPU capacity than your current vCPU limit", ERROR_DENIED, 0, NULL },
    { NULL, "more instances than your current instance limit", ERROR_DENIED, 0, NULL },
    { NULL, "not enough free addresses", ERROR_DENIED, 0, NULL },

    /* Rates. */
    { "Throttl*", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "RequestThrottled*", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "TooManyRequests*", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "RequestLimitExceeded", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "BandwidthLimitExceeded", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "EC2ThrottledException", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "PriorRequestNotComplete", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "SlowDown", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "AutoScalingGroupRateLimitExceeded", NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },

    /* 500, and still definite: another update is pending. */
    { "ResourceContention", NULL, ERROR_TRANSIENT, 0, NULL },

    /* SetInstanceProtection, of an instance that is coming or leaves. */
    { "ValidationError", "is not in InService or EnteringStandby", ERROR_TRANSIENT, 0, NULL },
    { "ValidationError", "is not part of Auto Scaling group", ERROR_NOT_FOUND, 0, NULL },

    { "ScalingActivityInProgress", NULL, ERROR_CONFLICT, 0, NULL },
    { "ResourceInUse*", NULL, ERROR_CONFLICT, 0, NULL },
    { "InvalidRequestException", NULL, ERROR_CONFLICT, 0, NULL },
    { "AutoScalingGroupInstanceRefreshActive", NULL, ERROR_CONFLICT, 0, NULL },

    { "InvalidInstanceID.NotFound", NULL, ERROR_NOT_FOUND, 0, NULL },
    { "InvalidCapacityReservationId.NotFound", NULL, ERROR_NOT_FOUND, 0, NULL },
    { "ResourceNotFoundException", NULL, ERROR_NOT_FOUND, 0, NULL },
    { "AutoScalingGroupNotFound", NULL, ERROR_NOT_FOUND, 0, NULL },

    /* Who asks. */
    { "ExpiredToken*", NULL, ERROR_DENIED, 0, NULL },
    { "RequestExpired", NULL, ERROR_DENIED, 0, NULL },
    { "InvalidClientTokenId", NULL, ERROR_DENIED, 0, NULL },
    { "UnrecognizedClientException", NULL, ERROR_DENIED, 0, NULL },
    { "SignatureDoesNotMatch", NULL, ERROR_DENIED, 0, NULL },
    { "InvalidSignatureException", NULL, ERROR_DENIED, 0, NULL },
    { "RequestTimeTooSkewed", NULL, ERROR_DENIED, 0, NULL },
    { "AuthFailure", NULL, ERROR_DENIED, 0, NULL },
    { "IncompleteSignature*", NULL, ERROR_DENIED, 0, NULL },
    { "MissingAuthenticationToken*", NULL, ERROR_DENIED, 0, NULL },
    { "AccessDenied*", NULL, ERROR_DENIED, 0, &aws_not_permitted },
    { "UnauthorizedOperation", NULL, ERROR_DENIED, 0, &aws_not_permitted },
    { "OptInRequired", NULL, ERROR_DENIED, 0, NULL },

    /* The request itself. */
    { "InvalidAction", NULL, ERROR_INVALID, 0, &aws_not_offered },
    { "UnknownOperationException", NULL, ERROR_INVALID, 0, &aws_not_offered },
    { "IdempotentParameterMismatch", NULL, ERROR_INVALID, 0, NULL },
    { "Unsupported", NULL, ERROR_INVALID, 0, NULL },
    { "ValidationError", NULL, ERROR_INVALID, 0, NULL },
    { "Invalid*", NULL, ERROR_INVALID, 0, NULL },

    /* Whether a change was made is not known. */
    { "InternalFailure", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },
    { "InternalError", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },
    { "RequestTimeout*", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },
    { "ServerException", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },
    { "ServiceUnavailable*", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },
    { "Unavailable", NULL, ERROR_UNKNOWN_OUTCOME, 0, NULL },

    /* Health of a node group of EKS, where the codes above do not say it. */
    { "AsgInstanceLaunchFailures", NULL, ERROR_NO_CAPACITY, 0, NULL },
};

static bool is_code(const char *pattern, const char *code)
{
    size_t length = strlen(pattern);

    if (pattern[length - 1] == '*')
        return strncmp(pattern, code, length - 1) == 0;
    return text_equal(pattern, code);
}

static const struct row *find_row(const char *code, const char *message)
{
    /* Instances that stopped have the side in front. */
    if (text_starts_with(code, "Server.") || text_starts_with(code, "Client."))
        code += strlen("Server.");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((!rows[i].code || is_code(rows[i].code, code)) &&
            (!rows[i].message || strstr(message, rows[i].message)))
            return &rows[i];
    return NULL;
}

static enum error_kind kind_of_status(int status)
{
    switch (status) {
    case 0:
        return ERROR_INVALID;
    case 401:
    case 403:
        return ERROR_DENIED;
    case 404:
        return ERROR_NOT_FOUND;
    case 408:
        return ERROR_UNKNOWN_OUTCOME;
    case 409:
    case 412:
        return ERROR_CONFLICT;
    case 429:
        return ERROR_THROTTLED;
    default:
        return status >= 500 || status < 400 ? ERROR_UNKNOWN_OUTCOME : ERROR_INVALID;
    }
}

bool aws_error_is_of_keys(const char *code)
{
    static const char *const codes[] = { "ExpiredToken*", "RequestExpired", "InvalidClientTokenId",
                                         "UnrecognizedClientException", "AuthFailure" };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (is_code(codes[i], code))
            return true;
    return false;
}

int aws_error_of(const struct aws_refusal *refusal, struct error *err)
{
    const struct row *row = find_row(refusal->code, refusal->message);
    enum error_kind kind = row ? row->kind : kind_of_status(refusal->status);

    if (kind == ERROR_UNKNOWN_OUTCOME && !refusal->is_mutation)
        kind = ERROR_TRANSIENT;
    error_set(err, kind, "%.80s%s%.300s", refusal->code,
              refusal->code[0] && refusal->message[0] ? ": " : "", refusal->message);
    if (refusal->code[0] == '\0' && refusal->message[0] == '\0')
        error_set(err, kind, "no code and no text");
    error_wait(err, row && row->retry_after_ms > refusal->retry_after_ms ? row->retry_after_ms
                                                                         : refusal->retry_after_ms);
    if (row && row->cause)
        error_because(err, row->cause);
    return refusal->status > 0 ? error_context(err, "%d", refusal->status) : -1;
}

bool aws_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(rows))
        return false;
    *ret = (struct provider_refusal){ rows[at].code, { rows[at].message, NULL }, rows[at].kind };
    return true;
}
