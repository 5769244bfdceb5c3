/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_uring operations as offload calls: submitted at one tracepoint, complete at another, paired by
 * the request. Part of offload.bpf.c, whose maps it fills; included there only.
 */
#ifndef ACCPERF_URING_BPF_H
#define ACCPERF_URING_BPF_H

struct trace_event_raw_io_uring_submit_req___off {
	void *req;
	__u8 opcode;
} __attribute__((preserve_access_index));
/* Its name before Linux 6.3. */
struct trace_event_raw_io_uring_submit_sqe___off {
	void *req;
	__u8 opcode;
} __attribute__((preserve_access_index));
struct trace_event_raw_io_uring_complete___off {
	void *req;
	int res;
} __attribute__((preserve_access_index));

struct uring_req {
	__u64 time;
	__u32 pid, tid;
	__u32 op; /* value of uring_ops */
	__u32 pad;
};

__u32 uring_ops[URING_OPS];
__u32 uring_everybody;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct uring_req);
} uring_reqs SEC(".maps");

static __always_inline int uring_submit(__u64 req, __u32 op)
{
	struct uring_req q = {};

	q.pid = whoami(&q.tid);
	if (q.pid == skip_pid || (!uring_everybody && !bpf_map_lookup_elem(&targets, &q.pid)))
		return 0;
	if (op >= URING_OPS || !entitled())
		return 0;
	q.op = uring_ops[op];
	if (!q.op)
		return 0;
	q.time = bpf_ktime_get_ns();
	bpf_map_update_elem(&uring_reqs, &req, &q, BPF_ANY);
	return 0;
}

SEC("tp/io_uring/io_uring_submit_req")
int offload_uring_submit(struct trace_event_raw_io_uring_submit_req___off *ctx)
{
	return HELD(uring_submit((__u64)ctx->req, ctx->opcode));
}

SEC("tp/io_uring/io_uring_submit_sqe")
int offload_uring_submit_sqe(struct trace_event_raw_io_uring_submit_sqe___off *ctx)
{
	return HELD(uring_submit((__u64)ctx->req, ctx->opcode));
}

static __always_inline int uring_complete(struct trace_event_raw_io_uring_complete___off *ctx)
{
	__u64 req = (__u64)ctx->req, now = bpf_ktime_get_ns();
	struct uring_req *q = bpf_map_lookup_elem(&uring_reqs, &req);
	struct probe_slot s = {};
	int res = ctx->res;

	if (!q)
		return 0;
	s.entry = q->time;
	s.pid = q->pid;
	s.tid = q->tid;
	s.probe = URING_PROBE(q->op);
	s.kind = PK_CALL;
	s.flags = WO_KERNEL;
	if (res < 0) {
		s.flags |= WO_FAILED;
	} else if (q->op & URING_IN) {
		s.in = res;
		s.flags |= WO_IN;
	} else if (q->op & URING_OUT) {
		s.out = res;
		s.flags |= WO_OUT;
	}
	bpf_map_delete_elem(&uring_reqs, &req);
	account(&s, now, 0);
	return 0;
}

SEC("tp/io_uring/io_uring_complete")
int offload_uring_complete(struct trace_event_raw_io_uring_complete___off *ctx)
{
	return HELD(uring_complete(ctx));
}

#endif
