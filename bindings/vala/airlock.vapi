/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libairlock for Vala. The C header says what each function does. */
[CCode (cheader_filename = "airlock/airlock.h")]
namespace Airlock {
	[CCode (cname = "airlock_version")]
	public unowned string version ();

	[CCode (cname = "struct airlock_error", has_type_id = false, destroy_function = "")]
	public struct Error {
		public int code;
		/* In C these are arrays; as expressions they are strings that live as long as the struct. */
		public unowned string op;
		public unowned string subject;
		public unowned string message;
		public unowned string hint;
	}

	[CCode (cname = "enum airlock_answer", cprefix = "AIRLOCK_", has_type_id = false)]
	public enum Answer {
		DENY,
		ALLOW_ONCE
	}

	[CCode (cname = "enum airlock_status", cprefix = "AIRLOCK_", has_type_id = false)]
	public enum Status {
		EXITED,
		SIGNALED,
		TIMED_OUT,
		FAILED
	}

	[Compact]
	[CCode (cname = "struct airlock_settings", free_function = "airlock_settings_free")]
	public class Settings {
		[CCode (cname = "airlock_settings_new")]
		public Settings ();
		[CCode (cname = "airlock_settings_set_environ")]
		public int set_environ ([CCode (array_length = false, array_null_terminated = true, type = "char *const *")] string[] envp, out Error err);
		[CCode (cname = "airlock_settings_set")]
		public int set (string name, string value, string origin, out Error err);
		[CCode (cname = "airlock_settings_explain_by_default")]
		public void explain_by_default ();
		[CCode (cname = "airlock_settings_set_command")]
		public int set_command (string command, out Error err);
		[CCode (cname = "airlock_settings_set_argv")]
		public int set_argv ([CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[] argv, out Error err);
	}

	[Compact]
	[CCode (cname = "struct airlock_job", free_function = "airlock_job_free")]
	public class Job {
		[CCode (cname = "airlock_job_prepare")]
		public static int prepare (Settings settings, out Job job, out Error err);
		[CCode (cname = "airlock_job_explain")]
		public unowned string explain ();
		[CCode (cname = "airlock_job_use_warm")]
		public void use_warm (Warm? warm);
	}

	[Compact]
	[CCode (cname = "struct airlock_warm", free_function = "airlock_warm_free")]
	public class Warm {
		[CCode (cname = "airlock_warm_new")]
		public Warm ();
		[CCode (cname = "airlock_warm_begin")]
		public int begin (out Error err);
		[CCode (cname = "airlock_warm_prepare")]
		public int prepare (Job job, out Error err);
		[CCode (cname = "airlock_warm_drop")]
		public void drop ();
		[CCode (cname = "airlock_warm_fd")]
		public int fd ();
		[CCode (cname = "airlock_warm_dispatch")]
		public int dispatch ();
	}

	[Compact]
	[CCode (cname = "struct airlock_run", free_function = "airlock_run_free")]
	public class Run {
		[CCode (cname = "airlock_run_start")]
		public static int start (Job job, void *io, out Run run, out Error err);
		[CCode (cname = "airlock_run_fd")]
		public int fd ();
		[CCode (cname = "airlock_run_dispatch")]
		public int dispatch (int timeout_ms);
		[CCode (cname = "airlock_run_signal")]
		public int signal (int number);
		public unowned string id { [CCode (cname = "airlock_run_id")] get; }
		public Status status { [CCode (cname = "airlock_run_status")] get; }
		public int exit_code { [CCode (cname = "airlock_run_exit_code")] get; }
		[CCode (cname = "airlock_run_result_json")]
		public unowned string result_json ();
		[CCode (cname = "airlock_run_result_text")]
		public unowned string result_text ();
		[CCode (cname = "airlock_run_changes_text")]
		public unowned string changes_text ();
		[CCode (cname = "airlock_run_denial")]
		public unowned string? denial (size_t i);
		public unowned string changes_state { [CCode (cname = "airlock_run_changes_state")] get; }
	}
}
