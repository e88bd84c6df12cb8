/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A TCP port of loopback that is free now.
 */
#pragma once

#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static inline struct sockaddr_in address_of(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline int free_port(void)
{
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}
