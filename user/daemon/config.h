/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon is told: a YAML file, read with libyaml, which knows line and column of every key and value. Pure.
 * Included by user/daemon and user/cli/daemon.c and tests.
 *
 * To add a key: a field here and a row in config.c; the example, its manual page and the checks follow.
 */
#ifndef ACCPERF_DAEMON_CONFIG_H
#define ACCPERF_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/buf.h"

struct config_list {
	char **items;
	size_t count;
};

/* A process belongs to a service where each of pid, name, cgroup, unit, container and pod that is given takes it. */
struct config_service {
	char *name;
	struct config_list pids, names, cgroups, units, containers, pods;
	double min_age; /* seconds */
	double weight;
	double samples; /* an hour; 0: no target */
	char *effort, *what, *offload;
};

struct daemon_config {
	char *folder;
	double segment_time, keep_age; /* seconds */
	uint64_t segment_size, keep_size, reserve;
	double budget;          /* share of all CPUs */
	uint64_t memory, daily; /* bytes; the latter of profiles a day */
	double scan;
	char *listen, *token_file, *tls_cert, *tls_key; /* files; NULL: none */
	char *clickhouse, *clickhouse_user;             /* NULL: nothing is sent */
	char *otlp, *pyroscope, *remote_write;          /* the same */
	double remote_write_every;                      /* seconds */
	struct config_service *services;
	size_t service_count;
};

/* 0, or the number of errors, each a line "LINE:COLUMN: sentence" in `errors`; then nothing is to be released. */
unsigned config_parse(const char *text, size_t len, struct daemon_config *c, struct buf *errors);
/* "127.0.0.1:9417", "[::1]:9417": false: it is none. loopback: only this machine reaches it. "none" is not for here. */
bool config_address(const char *text, struct sockaddr_storage *at, bool *loopback);
void config_release(struct daemon_config *c);
/* A file with every key, what it means and its default. */
void config_example(struct buf *out);
/* The same as sections of a manual page. */
void config_manual(struct buf *out);
bool config_same_service(const struct config_service *a, const struct config_service *b);

#endif
