/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the binding can go wrong without a compiler noticing: delegates, lists, lengths, ownership. */
[CCode (cname = "environ", array_length = false, array_null_terminated = true)]
extern string[] environ;

Airlock.Answer ask (Airlock.Question question) {
	stdout.printf ("asked about %s, %d answers\n", question.reasons[0].name (), question.choices.length);
	return Airlock.Answer.ALLOW_ONCE;
}

int complain (Airlock.Error err) {
	stderr.printf ("%s: %s\n", ((Airlock.Code) err.code).slug (), err.message);
	return 125;
}

int main (string[] args) {
	var settings = new Airlock.Settings ();
	Airlock.Error err;
	Airlock.Job? job = null;
	Airlock.Run? run = null;
	Airlock.Place? place = null;
	Airlock.Files? file = null;
	Airlock.Io io = { -1, -1, -1, -1, ask };
	string text;
	Airlock.Changes? changes;
	if (settings.set_environ (environ, out err) < 0
	    || settings.set ("network", "true", "this test", out err) < 0
	    || settings.set ("changes", "hold", "this test", out err) < 0
	    || settings.set_command ("echo x >made; chmod u+s made", out err) < 0
	    || Airlock.Job.prepare (settings, out job, out err) < 0
	    || Airlock.Run.start (job, io, out run, out err) < 0)
		return complain (err);
	unowned Airlock.Plan plan = job.plan ();
	stdout.printf ("%s %s of %s\n", plan.mounts[0].kind.name (), plan.mounts[0].target, plan.profile);
	while (run.dispatch (-1) > 0) {
	}
	unowned Airlock.Isolation isolation = run.isolation;
	stdout.printf ("%s %s %s\n", isolation.network.name (), isolation.filesystem.name (), isolation.capture.name ());
	stdout.printf ("%d denials, limit %s\n", (int) run.denial_count, run.usage.limit_hit.name () ?? "none");
	unowned Airlock.Changes found = run.changes ();
	unowned Airlock.Change first = found.at (0);
	stdout.printf ("%s %d\n", found.state.name (), (int) found.count);
	stdout.printf ("%s %s %s %d\n", first.kind.name (), first.type.name (), first.path, first.owner == null ? 0 : 1);
	stdout.printf ("%d reason: %s: %s\n", first.reasons.length, first.reasons[0].code.name (), first.reason_text ());
	if (settings.changes_diff (run.id, null, false, out text, out err) < 0)
		return complain (err);
	stdout.printf ("%s", text);
	if (Airlock.Changes.apply (settings, run.id, { "made" }, false, out changes, out err) < 0)
		return complain (err);
	stdout.printf ("%s %d\n", changes.state.name (), (int) changes.done_count);
	if (Airlock.Place.open (settings, null, out place, out err) < 0 || place.read ("made", 0, -1, out file, out err) < 0)
		return complain (err);
	Airlock.Session? session = null;
	Airlock.Sessions? sessions = null;
	string name;
	if (settings.session_new ("work", out name, out err) < 0 || settings.set ("session", name, "this test", out err) < 0
	    || settings.set ("network", "false", "this test", out err) < 0
	    || settings.set_command ("echo y >more", out err) < 0 || Airlock.Job.prepare (settings, out job, out err) < 0
	    || Airlock.Run.start (job, io, out run, out err) < 0)
		return complain (err);
	while (run.dispatch (-1) > 0) {
	}
	if (settings.session_open (name, out session, out err) < 0 || settings.sessions (false, out sessions, out err) < 0)
		return complain (err);
	stdout.printf ("%d session: %s %s, step %d of %d: %s\n", (int) sessions.count, session.info ().state.name (), run.session, (int) run.step,
	               (int) session.step_count, session.step_at (0).command);
	stdout.printf ("%s %d\n", session.changes ().name, (int) session.changes ().count);
	session = null;
	if (settings.session_rewind (name, 0, out err) < 0 || settings.session_end (name, out err) < 0
	    || settings.set ("session", "", "this test", out err) < 0 || settings.set ("network", "true", "this test", out err) < 0)
		return complain (err);
	Airlock.Questions? questions = null;
	Airlock.Asking? asking = null;
	Airlock.Answer answer;
	if (settings.set ("agent", "vala", "this test", out err) < 0 || settings.set ("permission-wait", "30s", "this test", out err) < 0
	    || Airlock.Job.prepare (settings, out job, out err) < 0 || job.ask (out asking, out err) != 1
	    || settings.questions (out questions, out err) < 0)
		return complain (err);
	unowned Airlock.PendingQuestion question = questions.at (0);
	stdout.printf ("%d question: %s %s by %s, %d: %d\n", (int) questions.count, question.reasons[0].name (), question.id == asking.id ? "same" : "other",
	               question.asked_by, question.choices.length, asking.poll (out answer));
	asking = null;
	stdout.printf ("%d bytes: %s", file.content ().bytes.length, file.text ());
	return run.exit_code;
}
