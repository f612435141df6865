/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network of a run: what was asked for and by whom, the gate while it runs, and what is told of it afterwards. The
 * decisions themselves are net/net_decide.h's. */
#pragma once

#include "net/net_gate.h"
#include "permission/permission.h"

struct airlock_io;
struct airlock_job;
struct airlock_run;
struct json;

struct job_network {
	enum net_mode mode;
	struct net_rules rules;				 /* answers are added while it runs */
	bool asks_open;					 /* a person must allow every host */
	bool asks_host;					 /* … or the machine's own network */
	struct strs asked_hosts;			 /* … or these hosts, as rules */
	struct permission_port publish[NET_MAX_PUBLISH]; /* … or these ports */
	size_t n_publish;
	char *resolver, *hosts; /* files for the sandbox; NULL: there is no gate */
	uint16_t ports[32];	/* that rules name */
	size_t n_ports;
};
void network_done(struct job_network *n);

/* Mode, rules, and what must be asked. AIRLOCK_ERR_BLOCKED: the profile refuses it. */
int network_decide(struct airlock_job *job, struct airlock_error *err);
/* Whether this backend can do it; and the files that the sandbox needs for it. */
int network_settle(struct airlock_job *job, struct airlock_error *err);
bool network_has_gate(const struct airlock_job *job);
void network_fill_question(const struct airlock_job *job, struct permission_inputs *in);

/* The gate of a run; *ret is NULL where there is none. */
int network_open(struct airlock_run *run, const struct airlock_io *io, struct net_gate **ret,
		 struct airlock_error *err);
/* The run is over: the last bytes go out, the gate is closed, answers are remembered where the person wants it. */
void network_close(struct airlock_run *run);
void network_free(struct airlock_run *run);

/* "network": an object, or null where there is no gate. */
void network_print_json(const struct airlock_run *run, struct json *j);
/* The rules in the order in which they are tried; ret has room for all of them, texts is empty. */
struct airlock_host_rule;
size_t network_explain(const struct airlock_job *job, struct airlock_host_rule *ret, struct strs *texts);
