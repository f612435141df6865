/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The same as run.c, in Vala.
 *   valac --profile=posix --pkg airlock run.vala && ./run 'echo hello >greeting'
 */
[CCode (cname = "environ", array_length = false, array_null_terminated = true)]
extern string[] environ;

int main (string[] args) {
	var settings = new Airlock.Settings ();
	Airlock.Error err;
	Airlock.Job? job = null;
	Airlock.Run? run = null;
	if (args.length != 2)
		return 2;
	if (settings.set_environ (environ, out err) < 0
	    || settings.set ("changes", "hold", "example", out err) < 0
	    || settings.set_command (args[1], out err) < 0
	    || Airlock.Job.prepare (settings, out job, out err) < 0
	    || Airlock.Run.start (job, null, out run, out err) < 0) {
		stderr.printf ("%s\n", err.message);
		return 125;
	}
	while (run.dispatch (-1) > 0) {
	}
	stdout.printf ("%s", run.result_text ());
	return run.exit_code;
}
