/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libmicrohttpd, which is loaded when something is to be served: with it come gnutls and what that needs, and every
 * start of every command would pay for them. Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_HTTP_LIBRARY_H
#define ACCPERF_DAEMON_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "util/err.h"

/* What is called of it: one that is missing here does not compile there. */
#define HTTP_CALLS(CALL)                                                                                               \
	CALL(add_response_header)                                                                                      \
	CALL(create_response_from_buffer)                                                                              \
	CALL(create_response_from_fd64)                                                                                \
	CALL(destroy_response)                                                                                         \
	CALL(get_connection_info)                                                                                      \
	CALL(get_connection_values)                                                                                    \
	CALL(get_daemon_info)                                                                                          \
	CALL(get_timeout)                                                                                              \
	CALL(is_feature_supported)                                                                                     \
	CALL(lookup_connection_value)                                                                                  \
	CALL(queue_response)                                                                                           \
	CALL(resume_connection)                                                                                        \
	CALL(run)                                                                                                      \
	CALL(start_daemon)                                                                                             \
	CALL(stop_daemon)                                                                                              \
	CALL(suspend_connection)

struct http_library {
#define CALL(name) __typeof__(MHD_##name) *name;
	HTTP_CALLS(CALL)
#undef CALL
};

/* Loaded by the first who asks, and kept; NULL, with what to do. */
const struct http_library *http_library(struct err *e);

#endif
