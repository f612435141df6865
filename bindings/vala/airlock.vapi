/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libairlock for Vala: the whole of the public headers. The C headers say what each function does. */
[CCode (cheader_filename = "airlock/airlock.h")]
namespace Airlock {
	[CCode (cname = "airlock_version")]
	public unowned string version ();
	[CCode (cname = "airlock_free")]
	public void free (void *p);

	/* ── Errors ── */

	[CCode (cname = "enum airlock_code", cprefix = "AIRLOCK_", has_type_id = false)]
	public enum Code {
		OK,
		ERR_USAGE,
		ERR_INVALID,
		ERR_NOT_FOUND,
		ERR_UNAVAILABLE,
		ERR_INIT_FAILED,
		ERR_BLOCKED,
		ERR_DENIED,
		ERR_TIMEOUT,
		ERR_CONFLICT,
		ERR_BUSY,
		ERR_LIMIT,
		ERR_CORRUPT,
		ERR_IO,
		ERR_INTERNAL;
		[CCode (cname = "airlock_code_slug")]
		public unowned string slug ();
		[CCode (cname = "airlock_code_exit_status")]
		public int exit_status ();
		[CCode (cname = "airlock_code_jsonrpc")]
		public int jsonrpc ();
		[CCode (cname = "airlock_code_meaning")]
		public unowned string meaning ();
	}

	[CCode (cname = "struct airlock_error", has_type_id = false, destroy_function = "")]
	public struct Error {
		public int code;
		public int errnum;
		/* In C these are arrays; as expressions they are strings that live as long as the struct. */
		public unowned string op;
		public unowned string subject;
		public unowned string message;
		public unowned string hint;
	}
	[CCode (cname = "airlock_error_json")]
	public string? error_json (Error err);
	[CCode (cname = "airlock_failure_json")]
	public string? failure_json (Error err);

	/* ── Settings ── */

	[Compact]
	[CCode (cname = "struct airlock_settings", free_function = "airlock_settings_free")]
	public class Settings {
		[CCode (cname = "airlock_settings_new")]
		public Settings ();
		[CCode (cname = "airlock_settings_set_environ")]
		public int set_environ ([CCode (array_length = false, array_null_terminated = true, type = "char *const *")] string[] envp, out Error err);
		[CCode (cname = "airlock_settings_set_session")]
		public int set_session (string name, out Error err);
		[CCode (cname = "airlock_settings_set_asked_by", cheader_filename = "airlock/history.h")]
		public int set_asked_by (string who, out Error err);
		[CCode (cname = "airlock_settings_use_prestart")]
		public void use_prestart (Prestart? prestart);
		[CCode (cname = "airlock_settings_explain_by_default")]
		public void explain_by_default ();
		[CCode (cname = "airlock_settings_set")]
		public int set (string name, string value, string origin, out Error err);
		[CCode (cname = "airlock_settings_set_command")]
		public int set_command (string command, out Error err);
		[CCode (cname = "airlock_settings_set_argv")]
		public int set_argv ([CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[] argv, out Error err);

		/* Changes of an earlier run. paths: null is all. */
		[CCode (cname = "airlock_changes_diff", cheader_filename = "airlock/changes.h")]
		public int changes_diff (string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, bool colour, out string text, out Error err);
		[CCode (cname = "airlock_changes_content", cheader_filename = "airlock/changes.h")]
		public int changes_content (string run, string path, Side side, out int fd, out Error err);
		[CCode (cname = "airlock_output_open")]
		public int output_open (string run, bool is_stderr, out int fd, out Error err);
		[CCode (cname = "airlock_changes_question", cheader_filename = "airlock/changes.h")]
		public int changes_question (string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, out Asked? asked, out Error err);
		[CCode (cname = "airlock_recover", cheader_filename = "airlock/history.h")]
		public int recover (out Recovery? recovery, out Error err);

		/* Configuration, remembered answers, the playground. */
		[CCode (cname = "airlock_config_open", cheader_filename = "airlock/config.h")]
		public int config (out Config? config, out Error err);
		[CCode (cname = "airlock_config_check", cheader_filename = "airlock/config.h")]
		public int config_check (string file, out Error err);
		[CCode (cname = "airlock_config_files_open", cheader_filename = "airlock/config.h")]
		public int config_files (out ConfigFiles? files, out Error err);
		[CCode (cname = "airlock_trust", cheader_filename = "airlock/config.h")]
		public int trust (string? dir, out string trusted, out Error err);
		[CCode (cname = "airlock_permissions_open", cheader_filename = "airlock/history.h")]
		public int permissions (out Permissions? permissions, out Error err);
		[CCode (cname = "airlock_permissions_revoke", cheader_filename = "airlock/history.h")]
		public int permissions_revoke (string id, out Error err);
		[CCode (cname = "airlock_permissions_clear", cheader_filename = "airlock/history.h")]
		public int permissions_clear (out uint64 count, out Error err);
		[CCode (cname = "airlock_questions_open", cheader_filename = "airlock/questions.h")]
		public int questions (out Questions? questions, out Error err);
		[CCode (cname = "airlock_questions_watch", cheader_filename = "airlock/questions.h")]
		public int questions_watch (out int fd, out Error err);
		[CCode (cname = "airlock_questions_answer", cheader_filename = "airlock/questions.h")]
		public int questions_answer (string id, Answer answer, out Error err);
		[CCode (cname = "airlock_question_ask", cheader_filename = "airlock/questions.h")]
		public int ask (Question question, out Asking? asking, out Error err);
		[CCode (cname = "airlock_caches_open", cheader_filename = "airlock/history.h")]
		public int caches (out Caches? caches, out Error err);
		[CCode (cname = "airlock_caches_clear", cheader_filename = "airlock/history.h")]
		public int caches_clear (string? dir, out uint64 entries, out Error err);
		[CCode (cname = "airlock_playground_path")]
		public int playground_path (out string path, out Error err);
		[CCode (cname = "airlock_playground_size")]
		public int playground_size (out uint64 bytes, out uint64 entries, out Error err);
		[CCode (cname = "airlock_playground_clear")]
		public int playground_clear (out uint64 entries, out Error err);

		public bool is_agent { [CCode (cname = "airlock_settings_is_agent")] get; }

		/* project.h */
		[CCode (cname = "airlock_project_find", cheader_filename = "airlock/project.h")]
		public int project_find (string dir, out string project, out Error err);
		[CCode (cname = "airlock_project_links", cheader_filename = "airlock/project.h")]
		public int project_links (string? dir, Progress? progress, out Links? links, out Error err);
		[CCode (cname = "airlock_project_link", cheader_filename = "airlock/project.h")]
		public int project_link (string? dir, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[] paths, out Links? links, out Error err);
		[CCode (cname = "airlock_project_unlink", cheader_filename = "airlock/project.h")]
		public int project_unlink (string? dir, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[] paths, out Links? links, out Error err);
		[CCode (cname = "airlock_project_unclaimed", cheader_filename = "airlock/project.h")]
		public int project_unclaimed (string dir, out Unclaimed reason, out Error err);

		/* history.h */
		[CCode (cname = "airlock_log_watch", cheader_filename = "airlock/history.h")]
		public int log_watch (out int fd, out Error err);
		[CCode (cname = "airlock_log_open", cheader_filename = "airlock/history.h")]
		public int log (LogScope scope, int64 limit, out Log? log, out Error err);
		[CCode (cname = "airlock_audit_verify", cheader_filename = "airlock/history.h")]
		public int audit_verify (out Audit? audit, out Error err);
		[CCode (cname = "airlock_history_open", cheader_filename = "airlock/history.h")]
		public int history (string run, out History? history, out Error err);
		[CCode (cname = "airlock_history_output", cheader_filename = "airlock/history.h")]
		public int history_output (string run, bool want_stderr, int fd, out Error err);
		[CCode (cname = "airlock_project_scan", cheader_filename = "airlock/history.h")]
		public int project_scan (string? dir, Progress? progress, out Project? project, out Error err);
		[CCode (cname = "airlock_projects_open", cheader_filename = "airlock/history.h")]
		public int projects (out Projects? projects, out Error err);
		[CCode (cname = "airlock_project_open", cheader_filename = "airlock/history.h")]
		public int project_open (string? dir, out Project? project, out Error err);
		[CCode (cname = "airlock_project_remove", cheader_filename = "airlock/history.h")]
		public int project_remove (string? dir, out string removed, out Error err);
		[CCode (cname = "airlock_records_open", cheader_filename = "airlock/history.h")]
		public int records (string? dir, RecordsFlag flags, out Records? records, out Error err);
		[CCode (cname = "airlock_backups_open", cheader_filename = "airlock/history.h")]
		public int backups (string? path, out Backups? backups, out Error err);
		[CCode (cname = "airlock_restore", cheader_filename = "airlock/history.h")]
		public int restore (string path, string? date, out Changes? changes, out Error err);
		[CCode (cname = "airlock_gc_run", cheader_filename = "airlock/history.h")]
		public int gc (bool dry_run, out Gc? gc, out Error err);

		/* agent.h */
		[CCode (cname = "airlock_recipes_open", cheader_filename = "airlock/agent.h")]
		public int recipes (out Recipes? recipes, out Error err);
		[CCode (cname = "airlock_recipes_open_one", cheader_filename = "airlock/agent.h")]
		public int recipe (string name, out Recipes? recipes, out Error err);
		[CCode (cname = "airlock_settings_set_agent", cheader_filename = "airlock/agent.h")]
		public int set_agent (string name, bool yolo, [CCode (array_length = false, array_null_terminated = true)] string[]? argv, out Error err);

		/* session.h */
		[CCode (cname = "airlock_sessions_open", cheader_filename = "airlock/session.h")]
		public int sessions (bool all, out Sessions? sessions, out Error err);
		[CCode (cname = "airlock_session_open", cheader_filename = "airlock/session.h")]
		public int session_open (string name, out Session? session, out Error err);
		[CCode (cname = "airlock_session_diff", cheader_filename = "airlock/session.h")]
		public int session_diff (string name, string other, bool colour, out string text, out Error err);
		public unowned string? session { [CCode (cname = "airlock_settings_session", cheader_filename = "airlock/session.h")] get; }
		[CCode (cname = "airlock_session_exists", cheader_filename = "airlock/session.h")]
		public bool session_exists (string name);
		[CCode (cname = "airlock_session_new", cheader_filename = "airlock/session.h")]
		public int session_new (string? name, out string new_name, out Error err);
		[CCode (cname = "airlock_session_rewind", cheader_filename = "airlock/session.h")]
		public int session_rewind (string name, uint64 step, out Error err);
		[CCode (cname = "airlock_session_fork", cheader_filename = "airlock/session.h")]
		public int session_fork (string name, string new_name, out Error err);
		[CCode (cname = "airlock_session_merge", cheader_filename = "airlock/session.h")]
		public int session_merge (string name, string into, out uint64 step, out string? conflicts, out Error err);
		[CCode (cname = "airlock_session_end", cheader_filename = "airlock/session.h")]
		public int session_end (string name, out Error err);
		[CCode (cname = "airlock_session_remove", cheader_filename = "airlock/session.h")]
		public int session_remove (string name, out Error err);
	}

	[CCode (has_target = true, has_typedef = false)]
	public delegate void Progress (size_t seen);

	[CCode (cname = "enum airlock_option_kind", cprefix = "AIRLOCK_OPTION_", has_type_id = false)]
	public enum OptionKind {
		FLAG,
		VALUE,
		LIST
	}

	[CCode (cname = "struct airlock_option", has_type_id = false, destroy_function = "", has_copy_function = false)]
	public struct Option {
		public unowned string? name;
		public char letter;
		public OptionKind kind;
		public unowned string? value_name;
		public unowned string help;
		public unowned string? values;
		public unowned string? completes;
		public unowned string? implies;
	}
	/* Ends with an option without name. */
	[CCode (cname = "airlock_options", array_length = false)]
	public unowned Option[] options ();

	/* ── Jobs and questions ── */

	[CCode (cname = "enum airlock_answer", cprefix = "AIRLOCK_", has_type_id = false)]
	public enum Answer {
		DENY,
		ALLOW_ONCE,
		ALLOW_SESSION,
		ALLOW_ALWAYS,
		DENY_SESSION,
		DENY_ALWAYS;
		[CCode (cname = "airlock_answer_name")]
		public unowned string name ();
		[CCode (cname = "airlock_answer_parse")]
		public static int parse (string name, out Answer answer);
	}

	[CCode (cname = "enum airlock_question_reason", cprefix = "AIRLOCK_ASK_", has_type_id = false)]
	public enum QuestionReason { UNSANDBOXED, ALLOW_WRITE, LINK, NETWORK, SENSITIVE_CHANGES, HELD_CHANGES, HOST, PUBLISH;
		[CCode (cname = "airlock_question_reason_name")]
		public unowned string name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_question", free_function = "")]
	public class Question {
		public unowned string text;
		public unowned string command;
		public unowned string working_dir;
		public unowned string project;
		public unowned string? session;
		[CCode (array_length_cname = "n_reasons", array_length_type = "size_t")]
		public unowned QuestionReason[] reasons;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] paths;
		public int one_time_only;
		[CCode (array_length_cname = "n_choices", array_length_type = "size_t")]
		public unowned Answer[] choices;
		public unowned string key;
		public unowned string grant_hint;
		public unowned string grant_command;
	}

	[Compact]
	[CCode (cname = "struct airlock_asked", free_function = "airlock_asked_free", cheader_filename = "airlock/changes.h")]
	public class Asked {
		public Question question { [CCode (cname = "airlock_asked_question")] get; }
	}

	/* A question that waits for a person elsewhere. The job it is about must outlive it. */
	[Compact]
	[CCode (cname = "struct airlock_asking", free_function = "airlock_asking_free", cheader_filename = "airlock/questions.h")]
	public class Asking {
		[CCode (cname = "airlock_asking_fd")]
		public int fd ();
		public string id { [CCode (cname = "airlock_asking_id")] get; }
		[CCode (cname = "airlock_asking_poll")]
		public int poll (out Answer answer);
		public bool is_ignored { [CCode (cname = "airlock_asking_is_ignored")] get; }
	}

	[Compact]
	[CCode (cname = "struct airlock_pending_question", free_function = "", cheader_filename = "airlock/questions.h")]
	public class PendingQuestion {
		public unowned string id;
		public unowned string text;
		public unowned string command;
		public unowned string project;
		public unowned string working_dir;
		public unowned string? session;
		public unowned string asked_by;
		public unowned string? host;
		public int port;
		public uint connections;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] paths;
		[CCode (array_length_cname = "n_reasons", array_length_type = "size_t")]
		public unowned QuestionReason[] reasons;
		[CCode (array_length_cname = "n_choices", array_length_type = "size_t")]
		public unowned Answer[] choices;
		public bool is_optional;
		public int64 asked_ns;
		public int64 wait_ms;
		[CCode (cname = "airlock_pending_question_json")]
		public string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_questions", free_function = "airlock_questions_free", cheader_filename = "airlock/questions.h")]
	public class Questions {
		public size_t count { [CCode (cname = "airlock_questions_count")] get; }
		[CCode (cname = "airlock_questions_at")]
		public unowned PendingQuestion? at (size_t i);
		[CCode (cname = "airlock_questions_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_job", free_function = "airlock_job_free")]
	public class Job {
		[CCode (cname = "airlock_job_prepare")]
		public static int prepare (Settings settings, out Job? job, out Error err);
		[CCode (cname = "airlock_job_plan", cheader_filename = "airlock/job.h")]
		public unowned Plan? plan ();
		[CCode (cname = "airlock_job_json", cheader_filename = "airlock/job.h")]
		public unowned string json ();
		public size_t warning_count { [CCode (cname = "airlock_job_warning_count")] get; }
		public size_t links_unanswered { [CCode (cname = "airlock_job_links_unanswered")] get; }
		[CCode (cname = "airlock_job_warning")]
		public unowned Note? warning (size_t i);
		[CCode (cname = "airlock_job_question")]
		public unowned Question? question ();
		[CCode (cname = "airlock_job_answer")]
		public void answer (Answer answer);
		[CCode (cname = "airlock_job_ask", cheader_filename = "airlock/questions.h")]
		public int ask (out Asking? asking, out Error err);
		[CCode (cname = "airlock_job_use_prestart")]
		public void use_prestart (Prestart? prestart);
		[CCode (cname = "airlock_job_hold_workspace", cheader_filename = "airlock/session.h")]
		public int hold_workspace (out WorkspaceHold? hold, out Error err);
		[CCode (cname = "airlock_job_use_hold", cheader_filename = "airlock/session.h")]
		public void use_hold (WorkspaceHold? hold);
	}

	[Compact]
	[CCode (cname = "struct airlock_workspace_hold", free_function = "airlock_workspace_release", cheader_filename = "airlock/session.h")]
	public class WorkspaceHold {
	}

	[Compact]
	[CCode (cname = "struct airlock_prestart", free_function = "airlock_prestart_free")]
	public class Prestart {
		[CCode (cname = "airlock_prestart_new")]
		public Prestart ();
		[CCode (cname = "airlock_prestart_begin")]
		public int begin (out Error err);
		[CCode (cname = "airlock_prestart_begin_for")]
		public int begin_for (Job job, out Error err);
		[CCode (cname = "airlock_prestart_drop")]
		public void drop ();
		[CCode (cname = "airlock_prestart_fd")]
		public int fd ();
		[CCode (cname = "airlock_prestart_dispatch")]
		public int dispatch ();
	}

	/* What a job would do: airlock/job.h. */

	[CCode (cname = "enum airlock_mount_kind", cprefix = "AIRLOCK_MOUNT_", cheader_filename = "airlock/job.h", has_type_id = false)]
	public enum MountKind { READ, WRITE, LAYER, TMPFS, REBUILD, HIDE_DIR, HIDE_FILE, DEV, PROC, SYMLINK, DIR, SEAL, LEFT_OUT;
		[CCode (cname = "airlock_mount_kind_name")]
		public unowned string name ();
	}

	[CCode (cname = "struct airlock_mount", cheader_filename = "airlock/job.h", has_type_id = false, destroy_function = "", has_copy_function = false)]
	public struct Mount {
		public MountKind kind;
		public unowned string? source;
		public unowned string target;
		public Origin because;
		public int64 size;
		public bool files_only;
	}

	[CCode (cname = "enum airlock_link_access", cprefix = "AIRLOCK_LINK_", cheader_filename = "airlock/job.h", has_type_id = false)]
	public enum LinkAccess { WRITABLE, READ_ONLY, HIDDEN }

	[CCode (cname = "struct airlock_job_link", cheader_filename = "airlock/job.h", has_type_id = false, destroy_function = "", has_copy_function = false)]
	public struct JobLink {
		public unowned string path;
		public unowned string target;
		public LinkState state;
		public LinkAccess access;
		public bool is_granted;
		public unowned string because;
	}

	[Flags]
	[CCode (cname = "unsigned", cprefix = "AIRLOCK_NAMESPACE_", cheader_filename = "airlock/job.h", has_type_id = false)]
	public enum Namespaces { USER, MOUNT, PID, NET, IPC, UTS, CGROUP;
		[CCode (cname = "airlock_namespace_name")]
		public unowned string? name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_plan", cheader_filename = "airlock/job.h", free_function = "")]
	public class Plan {
		public unowned string command;
		public unowned string backend;
		public unowned string profile;
		public Origin backend_origin;
		public bool is_sandboxed;
		public bool is_in_place;
		public Capture capture;
		public unowned string? capture_because;
		public unowned string working_dir;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] roots;
		[CCode (array_length_cname = "n_mounts", array_length_type = "size_t")]
		public unowned Mount[] mounts;
		[CCode (array_length_cname = "n_links", array_length_type = "size_t")]
		public unowned JobLink[] links;
		public bool network;
		public bool nested;
		public bool unix_sockets;
		public Namespaces namespaces;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] env_kept;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] env_removed;
		public int64 timeout_ms;
		public int64 memory;
		public int64 pids;
		public int64 file_size;
		public bool explains_denials;
		[CCode (array_length_cname = "n_notes", array_length_type = "size_t")]
		public unowned Note[] notes;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] argv;
		public unowned string? sandbox_profile;
		public unowned Question? question;
		public int64 remembered_id;
		public Answer remembered;
		public NetworkMode network_mode;
		[CCode (array_length_cname = "n_host_rules", array_length_type = "size_t")]
		public unowned HostRule[] host_rules;
		public bool asks_hosts;
		public unowned string? session;
		public int64 session_disk;
		public int64 session_tmp;
	}

	[CCode (cname = "enum airlock_network_mode", cprefix = "AIRLOCK_NETWORK_MODE_", has_type_id = false, cheader_filename = "airlock/job.h")]
	public enum NetworkMode { OFF, HOSTS, OPEN, HOST;
		[CCode (cname = "airlock_network_mode_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_host_rule_kind", cprefix = "AIRLOCK_HOST_", has_type_id = false, cheader_filename = "airlock/job.h")]
	public enum HostRuleKind { ALLOW, DENY, ALLOW_PRIVATE;
		[CCode (cname = "airlock_host_rule_name")]
		public unowned string name ();
	}

	[CCode (cname = "struct airlock_host_rule", has_type_id = false, destroy_function = "", has_copy_function = false, cheader_filename = "airlock/job.h")]
	public struct HostRule {
		public HostRuleKind kind;
		public unowned string host;
		public Origin because;
	}

	/* ── Runs ── */

	[CCode (cname = "enum airlock_status", cprefix = "AIRLOCK_", has_type_id = false)]
	public enum Status {
		EXITED,
		SIGNALED,
		TIMED_OUT,
		FAILED,
		RUNNING;
		[CCode (cname = "airlock_status_name")]
		public unowned string name ();
	}

	/* How it ended, as values: airlock/result.h and airlock/origin.h. */

	[CCode (cname = "enum airlock_origin_kind", cprefix = "AIRLOCK_ORIGIN_", cheader_filename = "airlock/origin.h", has_type_id = false)]
	public enum OriginKind {
		BUILTIN, ALWAYS, PROFILE, FILE, CALLER, SHARE_PID, PROJECT, LINK_ALLOWED, LINK_GRANTED, WORKTREE, SUBMODULE, WORKSPACE,
		PLAYGROUND, CACHE, OWN_STATE, OWN_CONFIGURATION, KERNEL_ADDRESSES, SESSION_SOCKETS, HOST_SOCKET, OTHER_NAME, RESOLVER,
		SOCKETS, GATHERED, ENTRY, LEFT_OUT, PLACE, SYSTEM, MACHINE, MACHINE_ONLY, MADE
	}

	[CCode (cname = "enum airlock_note_code", cprefix = "AIRLOCK_NOTE_", cheader_filename = "airlock/note.h", has_type_id = false)]
	public enum NoteCode {
		NONE, UNTRUSTED, UNTRUSTED_ABOVE, FOREIGN_FILE, LINK_REFUSED, LINKS_MANY, LINKS_LEFT_OUT, NOT_SEARCHED,
		MOUNT_NOT_SEARCHED, LINKS_NOT_STORED, STATE_INSIDE, LINKS_DAMAGED, GIT_REFUSED, GIT_MISSING, NOT_SHOWN,
		PARENT_UNREADABLE, NO_MOUNT_POINT, MISSING, FOREIGN_PROJECT, FOREIGN_HOME, COPIED, PARTIAL_ISOLATION,
		FELL_BACK, UNSANDBOXED, KILLED, KILLED_MEMORY, KILLED_FILE_SIZE, KILLED_FULL, FULL, OUTPUT_NOT_WRITTEN,
		OUTPUT_NOT_STORED, ABSTRACT_SOCKETS, EXPOSED, HIDDEN_AGAIN, ANSWER_LOST, LINK_UNANSWERED, LINKS_UNANSWERED,
		NOT_OBSERVED, REFUSED, REFUSED_MORE, HOST_REFUSED, AGENT_SIGNED_IN, AGENT_NOT_HOME, AGENT_READ_ONLY, AGENT_UPDATES, AGENT_BUSY, NO_GATE, NOT_COPIED, OUTSIDE_NAMES, CLOCK_BACK, CHANGES_UNREAD,
		CHANGES_NOT_KEPT, LEFT_OUT, CONTENT_LEFT_OUT, SOME_LEFT_OUT, CHANGES_LEFT_OUT, TAKEN_AS_CHANGED,
		ALL_TAKEN_CHANGED, UNREAD_MORE, ACL_LOST, WAITING, LINK_SPLIT, LINK_NOT_MADE, KEPT_ASIDE,
		MODES_NOT_RESTORED, CHANGED_MEANWHILE, INTERRUPTED, APPLY_FINISHED, APPLY_REVERTED, UNDO_FINISHED,
		UNDO_REVERTED, NOT_RECOVERED, RECOVERY_TROUBLE, TAKEN_OUT, NOT_TAKEN_OUT, NOT_TAKEN_BACK, UNDO_NOT_RECORDED,
		REDO_NOT_RECORDED, RECORDS_STALE, HISTORY_GAP, HISTORY_BEHIND, STEP_NOT_TOLD,
		BACKGROUND, SESSION_OWN_SANDBOX, SESSION_OWN_NETWORK, SESSION_DISK, SESSION_TMP, SESSION_PIDS, SESSION_NOT_TOLD, CUT_SHORT, CUT_NOT_READ;
		[CCode (cname = "airlock_note_name")]
		public unowned string? name ();
	}

	[CCode (cname = "struct airlock_note", cheader_filename = "airlock/note.h", has_type_id = false, destroy_function = "", has_copy_function = false)]
	public struct Note {
		public NoteCode code;
		public unowned string? subject;
		public unowned string? other;
		public unowned string? cause;
		public int64 number;
		[CCode (cname = "airlock_note_text", instance_pos = 0)]
		public string? text ();
	}

	[CCode (cname = "struct airlock_origin", cheader_filename = "airlock/origin.h", has_type_id = false, destroy_function = "", has_copy_function = false)]
	public struct Origin {
		public OriginKind kind;
		public unowned string? name;
		public int line;
		[CCode (cname = "airlock_origin_text", instance_pos = 0)]
		public string? text ();
	}

	[CCode (cname = "enum airlock_grade", cprefix = "AIRLOCK_GRADE_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Grade { NONE, PARTIAL, ENFORCED;
		[CCode (cname = "airlock_grade_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_network", cprefix = "AIRLOCK_NETWORK_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Network { NONE, BLOCKED, ALLOWED, FILTERED, HOST;
		[CCode (cname = "airlock_network_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_capture", cprefix = "AIRLOCK_CAPTURE_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Capture { NONE, OVERLAY, COPY;
		[CCode (cname = "airlock_capture_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_limit", cprefix = "AIRLOCK_LIMIT_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Limit { NONE, TIMEOUT, MEMORY, PIDS, FILE_SIZE, DISK, TMP;
		[CCode (cname = "airlock_limit_name")]
		public unowned string? name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_isolation", cheader_filename = "airlock/result.h", free_function = "")]
	public class Isolation {
		public unowned string backend;
		public unowned string profile;
		public Grade filesystem;
		public Grade processes;
		public Grade syscalls;
		public Grade limits;
		public Network network;
		public Capture capture;
		public unowned string? capture_because;
		public bool is_sandboxed;
	}

	[CCode (cname = "enum airlock_host_by", cprefix = "AIRLOCK_HOST_BY_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum HostBy { RULE, OPTION, PERSON, NOBODY, GUARD;
		[CCode (cname = "airlock_host_by_name")]
		public unowned string name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_host", cheader_filename = "airlock/result.h", free_function = "")]
	public class Host {
		public unowned string host;
		public uint port;
		public bool is_allowed;
		public HostBy by;
		public unowned string by_text;
		public uint64 connections;
		public uint64 bytes_out;
		public uint64 bytes_in;
	}

	[Compact]
	[CCode (cname = "struct airlock_usage", cheader_filename = "airlock/result.h", free_function = "")]
	public class Usage {
		public int64 duration_us;
		public int64 cpu_us;
		public int64 max_rss_kb;
		public Limit limit_hit;
		[CCode (array_length = false, array_null_terminated = true)]
		public unowned string[] full;
		public bool warm_start;
		public bool head_start;
	}

	[Compact]
	[CCode (cname = "struct airlock_output", cheader_filename = "airlock/result.h", free_function = "")]
	public class Output {
		public uint64 stdout_bytes;
		public uint64 stderr_bytes;
		public bool is_stdout_cut;
		public bool is_stderr_cut;
	}

	[CCode (cname = "enum airlock_attempt", cprefix = "AIRLOCK_ATTEMPT_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Attempt {
		OPEN, CHDIR, WRITE, TRUNCATE, MKDIR, DELETE, RENAME, LINK, SYMLINK, MKNOD, CHMOD, CHOWN, UTIME, CONNECT, BIND, SEND, TRACE,
		NAMESPACE, MOUNT, PERF, BPF, KEYS, USERFAULT, FANOTIFY, ADMIN;
		[CCode (cname = "airlock_attempt_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_denial_rule", cprefix = "AIRLOCK_DENIAL_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum DenialRule { NONE, HIDDEN, NOT_VISIBLE, READ_ONLY, NETWORK_OFF, CALL;
		[CCode (cname = "airlock_denial_rule_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_remedy", cprefix = "AIRLOCK_REMEDY_", cheader_filename = "airlock/result.h", has_type_id = false)]
	public enum Remedy { NONE, ALLOW_WRITE, READ, BIND, UNHIDE, NETWORK, PROFILE, NESTED }

	[Compact]
	[CCode (cname = "struct airlock_denial", cheader_filename = "airlock/result.h", free_function = "")]
	public class Denial {
		public Attempt attempt;
		public unowned string? path;
		public unowned string? address;
		public unowned string? program;
		public DenialRule rule;
		public Origin origin;
		public unowned string? region;
		public Remedy remedy;
		public unowned string? value;
		public bool is_to_make;
		public uint64 count;
		[CCode (cname = "airlock_denial_text")]
		public string? text ();
		[CCode (cname = "airlock_denial_hint")]
		public string? hint ();
	}

	[CCode (has_target = true, has_typedef = false)]
	public delegate Answer Ask (Question question);

	/* -1 for every descriptor that there is not. */
	[CCode (cname = "struct airlock_io", has_type_id = false, destroy_function = "")]
	public struct Io {
		public int stdin_fd;
		public int stdout_fd;
		public int stderr_fd;
		public int terminal_fd;
		[CCode (delegate_target_cname = "data")]
		public unowned Ask? ask;
	}

	[Compact]
	[CCode (cname = "struct airlock_run", free_function = "airlock_run_free")]
	public class Run {
		[CCode (cname = "airlock_run_start")]
		public static int start (Job job, Io? io, out Run? run, out Error err);
		[CCode (cname = "airlock_run_fd")]
		public int fd ();
		[CCode (cname = "airlock_run_dispatch")]
		public int dispatch (int timeout_ms);
		[CCode (cname = "airlock_run_await_result")]
		public int await_result (int timeout_ms);
		[CCode (cname = "airlock_run_signal")]
		public int signal (int number);
		[CCode (cname = "airlock_run_resize")]
		public void resize ();
		[CCode (cname = "airlock_run_take_stop")]
		public bool take_stop ();
		[CCode (cname = "airlock_run_progress")]
		public int64 progress (out unowned string latest);
		public unowned string id { [CCode (cname = "airlock_run_id")] get; }
		public unowned string? session { [CCode (cname = "airlock_run_session", cheader_filename = "airlock/session.h")] get; }
		public size_t background { [CCode (cname = "airlock_run_background", cheader_filename = "airlock/session.h")] get; }
		public uint64 step { [CCode (cname = "airlock_run_step", cheader_filename = "airlock/session.h")] get; }
		public Status status { [CCode (cname = "airlock_run_status")] get; }
		public int exit_code { [CCode (cname = "airlock_run_exit_code")] get; }
		[CCode (cname = "airlock_run_error")]
		public unowned Error? error ();
		[CCode (cname = "airlock_run_result_json")]
		public unowned string result_json ();
		[CCode (cname = "airlock_run_result_text")]
		public unowned string result_text ();
		public ChangesMode changes_mode { [CCode (cname = "airlock_run_changes_mode", cheader_filename = "airlock/changes.h")] get; }
		[CCode (cname = "airlock_run_changes", cheader_filename = "airlock/changes.h")]
		public unowned Changes? changes ();
		[CCode (cname = "airlock_run_note")]
		public unowned Note? note (size_t i);
		public Isolation isolation { [CCode (cname = "airlock_run_isolation", cheader_filename = "airlock/result.h")] get; }
		public Usage usage { [CCode (cname = "airlock_run_usage", cheader_filename = "airlock/result.h")] get; }
		public Output output { [CCode (cname = "airlock_run_output", cheader_filename = "airlock/result.h")] get; }
		public size_t denial_count { [CCode (cname = "airlock_run_denial_count", cheader_filename = "airlock/result.h")] get; }
		[CCode (cname = "airlock_run_denial", cheader_filename = "airlock/result.h")]
		public unowned Denial? denial (size_t i);
		[CCode (cname = "airlock_run_host", cheader_filename = "airlock/result.h")]
		public unowned Host? host (size_t i);
	}

	/* ── Changes ── */

	[CCode (cname = "enum airlock_change_kind", cprefix = "AIRLOCK_KIND_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ChangeKind { ADDED, MODIFIED, DELETED, RENAMED, METADATA, TYPE;
		[CCode (cname = "airlock_change_kind_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_file_type", cprefix = "AIRLOCK_TYPE_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum FileType { FILE, DIRECTORY, SYMLINK, OTHER;
		[CCode (cname = "airlock_file_type_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_change_state", cprefix = "AIRLOCK_CHANGE_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ChangeState { HELD, APPLIED, CONFLICT, SKIPPED, DISCARDED;
		[CCode (cname = "airlock_change_state_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_changes_state", cprefix = "AIRLOCK_CHANGES_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ChangesState { NONE, APPLIED, PARTIAL, HELD, DISCARDED, DIRECT;
		[CCode (cname = "airlock_changes_state_name")]
		public unowned string name ();
	}

	[CCode (cname = "enum airlock_side", cprefix = "AIRLOCK_SIDE_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum Side { BEFORE, AFTER, PROJECT }

	[CCode (cname = "enum airlock_changes_mode", cprefix = "AIRLOCK_MODE_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ChangesMode { DIRECT, APPLY, ASK, HOLD, DISCARD }

	[CCode (cname = "enum airlock_changes_action", cprefix = "AIRLOCK_ACTION_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ChangesAction { NONE, APPLY, DISCARD, UNDO, REDO }

	[CCode (cname = "enum airlock_reason_code", cprefix = "AIRLOCK_REASON_", cheader_filename = "airlock/changes.h", has_type_id = false)]
	public enum ReasonCode {
		NONE, ROOT_REPLACED, PARENT_REPLACED, PARENT_DELETED, EDITED, DELETED, CREATED, REPLACED, FILLED, LOST,
		UNKNOWN_ENTRY, FOREIGN_ENTRY, DIRECTORY_GONE, APPLY_RACED, UNDO_RACED, CHANGED_SINCE, OTHER_CONFLICT,
		WAITS_FOR_ENTRY, WAITS_FOR_PARENT, WAITS_FOR_OTHER, TIMED_OUT, KILLED, ENDED, NOT_RUN, INTERRUPTED,
		NOT_APPLIED, NO_BACKUP, NOT_KEPT, RUNS, MISLEADS, STEERS, UNKNOWN_NAME, UNKNOWN_SETTING, HOLD_RULE,
		LINK_OUT, MADE_EXECUTABLE, SPECIAL_FILE, NAMED_PIPE, SOCKET, DEVICE, NEW_COMMIT, STAGED, MAKES_REPOSITORY,
		APPLIED_WHOLE, UNREADABLE, TOO_LARGE, INVALID_JSON, INVALID_SETTINGS, COMMIT_UNREADABLE, INDEX_UNREADABLE, HISTORY_TOO_LONG,
		UNKNOWN_REFS, TOO_MANY_OBJECTS, UNKNOWN_OBJECTS, LARGE_REPOSITORY, LARGE_DIRECTORY, RECORDED, SETUID_DROPPED, SETGID_DROPPED, SETIDS_DROPPED,
		OTHER_COMMAND, TAKEN_BACK;
		[CCode (cname = "airlock_reason_name")]
		public unowned string? name ();
	}

	[CCode (cname = "struct airlock_reason", has_type_id = false, destroy_function = "", cheader_filename = "airlock/changes.h")]
	public struct Reason {
		public ReasonCode code;
		public unowned string? what;
		public unowned string? program;
		public unowned string? path;
		public unowned string? commit;
		public ReasonCode cause;
	}

	[CCode (cname = "struct airlock_owner", has_type_id = false, destroy_function = "", cheader_filename = "airlock/changes.h")]
	public struct Owner {
		public uint32 uid;
		public uint32 gid;
	}

	[Compact]
	[CCode (cname = "struct airlock_change", free_function = "", cheader_filename = "airlock/changes.h")]
	public class Change {
		public unowned string path;
		public unowned string root;
		public unowned string? from;
		public ChangeKind kind;
		public FileType type;
		public ChangeState state;
		[CCode (array_length_cname = "n_reasons", array_length_type = "size_t")]
		public unowned Reason[] reasons;
		public uint64 size;
		public uint mode;
		public Owner? owner;
		public Owner? owner_before;
		public int in_project;
		public int is_sensitive;
		public int is_undone;
		public int is_done;
		[CCode (cname = "airlock_change_line")]
		public string? line (bool is_mixed);
		[CCode (cname = "airlock_change_reason_text")]
		public string reason_text ();
	}

	[Compact]
	[CCode (cname = "struct airlock_changes", free_function = "airlock_changes_free", cheader_filename = "airlock/changes.h")]
	public class Changes {
		[CCode (cname = "airlock_changes_open")]
		public static int open (Settings settings, string run, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_sensitive")]
		public static int sensitive (Settings settings, string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_apply")]
		public static int apply (Settings settings, string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, bool force, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_apply_merged")]
		public static int apply_merged (Settings settings, string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_discard")]
		public static int discard (Settings settings, string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_undo")]
		public static int undo (Settings settings, string? run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, bool force, out Changes? changes, out Error err);
		[CCode (cname = "airlock_changes_undo_action")]
		public static int undo_action (Settings settings, string run, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[]? paths, out ChangesAction action, out Error err);
		public unowned string run { [CCode (cname = "airlock_changes_run")] get; }
		public unowned string name { [CCode (cname = "airlock_changes_name")] get; }
		public ChangesState state { [CCode (cname = "airlock_changes_state")] get; }
		public ChangesAction action { [CCode (cname = "airlock_changes_action")] get; }
		public size_t count { [CCode (cname = "airlock_changes_count")] get; }
		public size_t done_count { [CCode (cname = "airlock_changes_done_count")] get; }
		[CCode (cname = "airlock_changes_at")]
		public unowned Change? at (size_t i);
		[CCode (cname = "airlock_changes_note")]
		public unowned Note? note (size_t i);
		[CCode (cname = "airlock_changes_json")]
		public unowned string? json ();
	}

	/* ── The configuration ── */

	[Compact]
	[CCode (cname = "struct airlock_config_value", free_function = "", cheader_filename = "airlock/config.h")]
	public class ConfigValue {
		public unowned string key;
		public unowned string toml;
		public Origin origin;
		public int is_ignored;
	}

	[Compact]
	[CCode (cname = "struct airlock_config", free_function = "airlock_config_free", cheader_filename = "airlock/config.h")]
	public class Config {
		public size_t count { [CCode (cname = "airlock_config_count")] get; }
		[CCode (cname = "airlock_config_at")]
		public unowned ConfigValue? at (size_t i);
		[CCode (cname = "airlock_config_warning")]
		public unowned Note? warning (size_t i);
		[CCode (cname = "airlock_config_json")]
		public unowned string? json ();
	}

	[CCode (cname = "enum airlock_config_file_state", cprefix = "AIRLOCK_FILE_", has_type_id = false, cheader_filename = "airlock/config.h")]
	public enum ConfigFileState { READ, MISSING, TRUSTED, NOT_TRUSTED, FOREIGN, NOT_REGULAR, UNREADABLE }

	[Compact]
	[CCode (cname = "struct airlock_config_file", free_function = "", cheader_filename = "airlock/config.h")]
	public class ConfigFile {
		public unowned string path;
		public ConfigFileState state;
	}

	[Compact]
	[CCode (cname = "struct airlock_config_files", free_function = "airlock_config_files_free", cheader_filename = "airlock/config.h")]
	public class ConfigFiles {
		public size_t count { [CCode (cname = "airlock_config_files_count")] get; }
		[CCode (cname = "airlock_config_files_at")]
		public unowned ConfigFile? at (size_t i);
	}

	/* ── What is remembered ── */

	[Compact]
	[CCode (cname = "struct airlock_past_run", free_function = "", cheader_filename = "airlock/history.h")]
	public class PastRun {
		public unowned string id;
		public unowned string command;
		public unowned string project;
		public unowned string working_dir;
		public unowned string asked_by;
		public int64 started_ns;
		public Status status;
		public int exit_code;
		public ChangesState changes_state;
		public size_t change_count;
		public unowned string? session;
		public uint64 step;
	}

	[CCode (cname = "enum airlock_log_scope", cprefix = "AIRLOCK_LOG_", has_type_id = false, cheader_filename = "airlock/history.h")]
	public enum LogScope { NAMED, HERE }

	[Compact]
	[CCode (cname = "struct airlock_log", free_function = "airlock_log_free", cheader_filename = "airlock/history.h")]
	public class Log {
		public size_t count { [CCode (cname = "airlock_log_count")] get; }
		[CCode (cname = "airlock_log_at")]
		public unowned PastRun? at (size_t i);
		public bool is_of_all { [CCode (cname = "airlock_log_is_of_all")] get; }
		[CCode (cname = "airlock_log_json")]
		public unowned string? json ();
	}

	[CCode (cname = "enum airlock_audit_fault_kind", cprefix = "AIRLOCK_AUDIT_", has_type_id = false, cheader_filename = "airlock/history.h")]
	public enum AuditFaultKind { NOT_WHOLE, OUT_OF_PLACE, CHANGED, BEGINNING, MISSING }

	[Compact]
	[CCode (cname = "struct airlock_audit_fault", free_function = "", cheader_filename = "airlock/history.h")]
	public class AuditFault {
		public unowned string file;
		public int64 line;
		public AuditFaultKind kind;
	}

	[Compact]
	[CCode (cname = "struct airlock_audit", free_function = "airlock_audit_free", cheader_filename = "airlock/history.h")]
	public class Audit {
		public size_t count { [CCode (cname = "airlock_audit_count")] get; }
		[CCode (cname = "airlock_audit_at")]
		public unowned AuditFault? at (size_t i);
		public uint64 lines { [CCode (cname = "airlock_audit_lines")] get; }
		[CCode (cname = "airlock_audit_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_past_denial", free_function = "", cheader_filename = "airlock/history.h")]
	public class PastDenial {
		public unowned string text;
		public unowned string? hint;
	}

	[Compact]
	[CCode (cname = "struct airlock_past_question", free_function = "", cheader_filename = "airlock/history.h")]
	public class PastQuestion {
		public unowned string text;
		public unowned string answer;
		public unowned string? grant;
	}

	[Compact]
	[CCode (cname = "struct airlock_history", free_function = "airlock_history_free", cheader_filename = "airlock/history.h")]
	public class History {
		public PastRun run { [CCode (cname = "airlock_history_run")] get; }
		[CCode (cname = "airlock_history_changes")]
		public unowned Changes? changes ();
		[CCode (cname = "airlock_history_error")]
		public unowned Error? error ();
		[CCode (cname = "airlock_history_isolation")]
		public unowned Isolation? isolation ();
		[CCode (cname = "airlock_history_usage")]
		public unowned Usage? usage ();
		[CCode (cname = "airlock_history_host")]
		public unowned Host? host (size_t i);
		[CCode (cname = "airlock_history_denial")]
		public unowned PastDenial? denial (size_t i);
		[CCode (cname = "airlock_history_question")]
		public unowned PastQuestion? question (size_t i);
		[CCode (cname = "airlock_history_profile")]
		public unowned string? profile ();
		[CCode (cname = "airlock_history_value")]
		public unowned ConfigValue? value (size_t i);
		[CCode (cname = "airlock_history_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_project_record", free_function = "", cheader_filename = "airlock/history.h")]
	public class ProjectRecord {
		public int64 id;
		public unowned string path;
		public int64 file_count;
		public int64 added_ns;
		public int64 scanned_ns;
	}

	[Compact]
	[CCode (cname = "struct airlock_projects", free_function = "airlock_projects_free", cheader_filename = "airlock/history.h")]
	public class Projects {
		public size_t count { [CCode (cname = "airlock_projects_count")] get; }
		[CCode (cname = "airlock_projects_at")]
		public unowned ProjectRecord? at (size_t i);
		[CCode (cname = "airlock_projects_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_project_root", free_function = "", cheader_filename = "airlock/history.h")]
	public class ProjectRoot {
		public unowned string path;
		public Origin because;
	}

	[Compact]
	[CCode (cname = "struct airlock_project", free_function = "airlock_project_free", cheader_filename = "airlock/history.h")]
	public class Project {
		public ProjectRecord record { [CCode (cname = "airlock_project_record")] get; }
		[CCode (cname = "airlock_project_root")]
		public unowned ProjectRoot? root (size_t i);
		[CCode (cname = "airlock_project_link_at")]
		public unowned Link? link (size_t i);
		[CCode (cname = "airlock_project_note")]
		public unowned Note? note (size_t i);
		[CCode (cname = "airlock_project_json")]
		public unowned string? json ();
	}

	[Flags]
	[CCode (cname = "unsigned", cprefix = "AIRLOCK_RECORDS_", has_type_id = false, cheader_filename = "airlock/history.h")]
	public enum RecordsFlag { DELETED, LOOK }

	[Compact]
	[CCode (cname = "struct airlock_record", free_function = "", cheader_filename = "airlock/history.h")]
	public class Record {
		public int64 id;
		public unowned string path;
		public FileType type;
		public unowned string? target;
		public int64 size;
		public int64 mtime_ns;
		public int is_text;
		public int is_ignored;
		public int is_deleted;
		public unowned string? backup;
		public int64 first_seen_ns;
		public int64 last_seen_ns;
	}

	[Compact]
	[CCode (cname = "struct airlock_records", free_function = "airlock_records_free", cheader_filename = "airlock/history.h")]
	public class Records {
		public size_t count { [CCode (cname = "airlock_records_count")] get; }
		[CCode (cname = "airlock_records_at")]
		public unowned Record? at (size_t i);
		[CCode (cname = "airlock_records_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_backup", free_function = "", cheader_filename = "airlock/history.h")]
	public class Backup {
		public int64 file_id;
		public unowned string project;
		public unowned string path;
		public unowned string date;
		public unowned string copy;
		public unowned string run;
	}

	[Compact]
	[CCode (cname = "struct airlock_backups", free_function = "airlock_backups_free", cheader_filename = "airlock/history.h")]
	public class Backups {
		public size_t count { [CCode (cname = "airlock_backups_count")] get; }
		[CCode (cname = "airlock_backups_at")]
		public unowned Backup? at (size_t i);
		[CCode (cname = "airlock_backups_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_permission", free_function = "", cheader_filename = "airlock/history.h")]
	public class Permission {
		public int64 id;
		public unowned string kind;
		public unowned string command;
		public unowned string working_dir;
		public unowned string project;
		public Answer answer;
		public int64 created_ns;
	}

	[Compact]
	[CCode (cname = "struct airlock_permissions", free_function = "airlock_permissions_free", cheader_filename = "airlock/history.h")]
	public class Permissions {
		public size_t count { [CCode (cname = "airlock_permissions_count")] get; }
		[CCode (cname = "airlock_permissions_at")]
		public unowned Permission? at (size_t i);
		[CCode (cname = "airlock_permissions_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_cache", free_function = "", cheader_filename = "airlock/history.h")]
	public class Cache {
		public unowned string? project;
		public unowned string path;
		public uint64 bytes;
		public uint64 entries;
	}

	[Compact]
	[CCode (cname = "struct airlock_caches", free_function = "airlock_caches_free", cheader_filename = "airlock/history.h")]
	public class Caches {
		public size_t count { [CCode (cname = "airlock_caches_count")] get; }
		[CCode (cname = "airlock_caches_at")]
		public unowned Cache? at (size_t i);
		[CCode (cname = "airlock_caches_json")]
		public unowned string? json ();
	}

	[CCode (cname = "enum airlock_garbage_kind", cprefix = "AIRLOCK_GARBAGE_", has_type_id = false, cheader_filename = "airlock/history.h")]
	public enum GarbageKind { LAYERS, RUN, BACKUP, CACHES, SESSION }

	[Compact]
	[CCode (cname = "struct airlock_garbage", free_function = "", cheader_filename = "airlock/history.h")]
	public class Garbage {
		public GarbageKind kind;
		public unowned string name;
	}

	[Compact]
	[CCode (cname = "struct airlock_gc", free_function = "airlock_gc_free", cheader_filename = "airlock/history.h")]
	public class Gc {
		public size_t count { [CCode (cname = "airlock_gc_count")] get; }
		[CCode (cname = "airlock_gc_at")]
		public unowned Garbage? at (size_t i);
		[CCode (cname = "airlock_gc_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_recovery", free_function = "airlock_recovery_free", cheader_filename = "airlock/history.h")]
	public class Recovery {
		public size_t count { [CCode (cname = "airlock_recovery_count")] get; }
		[CCode (cname = "airlock_recovery_note")]
		public unowned Note? note (size_t i);
		[CCode (cname = "airlock_recovery_json")]
		public unowned string? json ();
	}

	/* ── Sessions ── */

	[CCode (cname = "enum airlock_session_state", cprefix = "AIRLOCK_SESSION_", has_type_id = false, cheader_filename = "airlock/session.h")]
	public enum SessionState { OPEN, ENDED;
		[CCode (cname = "airlock_session_state_name")]
		public unowned string name ();
	}

	[CCode (cname = "airlock_is_inside")]
	public bool is_inside ();

	[CCode (cname = "airlock_session_is_name", cheader_filename = "airlock/session.h")]
	public bool session_is_name (string word);

	[Compact]
	[CCode (cname = "struct airlock_session_info", free_function = "", cheader_filename = "airlock/session.h")]
	public class SessionInfo {
		public unowned string name;
		public unowned string project;
		public SessionState state;
		public int holds;
		public size_t steps;
		public size_t held;
		public size_t processes;
		public int64 created_ns;
		public int64 last_used_ns;
	}

	[Compact]
	[CCode (cname = "struct airlock_session_step", free_function = "", cheader_filename = "airlock/session.h")]
	public class SessionStep {
		public uint64 number;
		public unowned string run;
		public unowned string command;
		public int exit_code;
		public size_t count;
		public int is_decided;
	}

	[Compact]
	[CCode (cname = "struct airlock_session_damage", free_function = "", cheader_filename = "airlock/session.h")]
	public class SessionDamage {
		public unowned string name;
		public Error error;
	}

	[Compact]
	[CCode (cname = "struct airlock_session_usage", free_function = "", cheader_filename = "airlock/session.h")]
	public class SessionUsage {
		public int64 disk;
		public int64 disk_limit;
		public int64 tmp;
		public int64 tmp_limit;
	}

	[Compact]
	[CCode (cname = "struct airlock_session_process", free_function = "", cheader_filename = "airlock/session.h")]
	public class SessionProcess {
		public int64 pid;
		public unowned string command;
		public int64 started_ns;
	}

	[CCode (cname = "airlock_sessions_end_with_program", cheader_filename = "airlock/session.h")]
	public int sessions_end_with_program (out Error err);

	[CCode (cname = "enum airlock_recipe_source", cprefix = "AIRLOCK_RECIPE_", has_type_id = false, cheader_filename = "airlock/agent.h")]
	public enum RecipeSource {
		BUILTIN,
		SYSTEM,
		USER;
		[CCode (cname = "airlock_recipe_source_name")]
		public unowned string name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_recipe", free_function = "", cheader_filename = "airlock/agent.h")]
	public class Recipe {
		public unowned string name;
		public unowned string title;
		public RecipeSource source;
		public unowned string file;
		public unowned string text;
		public unowned string program;
		public unowned string? found;
		public unowned string? install;
		public unowned string? add_dir;
		[CCode (cname = "airlock_recipe_json")]
		public string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_recipes", free_function = "airlock_recipes_free", cheader_filename = "airlock/agent.h")]
	public class Recipes {
		public size_t count { [CCode (cname = "airlock_recipes_count")] get; }
		[CCode (cname = "airlock_recipes_at")]
		public unowned Recipe? at (size_t i);
		[CCode (cname = "airlock_recipes_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_sessions", free_function = "airlock_sessions_free", cheader_filename = "airlock/session.h")]
	public class Sessions {
		public size_t count { [CCode (cname = "airlock_sessions_count")] get; }
		[CCode (cname = "airlock_sessions_at")]
		public unowned SessionInfo? at (size_t i);
		public size_t damaged_count { [CCode (cname = "airlock_sessions_damaged_count")] get; }
		[CCode (cname = "airlock_sessions_damaged_at")]
		public unowned SessionDamage? damaged_at (size_t i);
		[CCode (cname = "airlock_sessions_json")]
		public unowned string? json ();
	}

	[Compact]
	[CCode (cname = "struct airlock_session", free_function = "airlock_session_free", cheader_filename = "airlock/session.h")]
	public class Session {
		[CCode (cname = "airlock_session_info")]
		public unowned SessionInfo info ();
		public size_t step_count { [CCode (cname = "airlock_session_step_count")] get; }
		[CCode (cname = "airlock_session_step_at")]
		public unowned SessionStep? step_at (size_t i);
		public size_t process_count { [CCode (cname = "airlock_session_process_count")] get; }
		[CCode (cname = "airlock_session_process_at")]
		public unowned SessionProcess? process_at (size_t i);
		[CCode (cname = "airlock_session_usage")]
		public unowned SessionUsage usage ();
		[CCode (cname = "airlock_session_changes")]
		public unowned Changes changes ();
		[CCode (cname = "airlock_session_json")]
		public unowned string? json ();
	}

	/* ── The machine ── */

	[CCode (cname = "enum airlock_check_status", cprefix = "AIRLOCK_CHECK_", has_type_id = false)]
	public enum CheckStatus { OK, DEGRADED, FAILED;
		[CCode (cname = "airlock_check_status_name")]
		public unowned string name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_check", free_function = "")]
	public class Check {
		public unowned string name;
		public CheckStatus status;
		public unowned string detail;
		public unowned string consequence;
		public unowned string fix;
	}

	[Compact]
	[CCode (cname = "struct airlock_doctor", free_function = "airlock_doctor_free")]
	public class Doctor {
		[CCode (cname = "airlock_doctor_examine")]
		public static int examine (Settings settings, out Doctor? doctor, out Error err);
		[CCode (cname = "airlock_doctor_is_news")]
		public static int is_news (Settings settings, Doctor doctor);
		public bool ok { [CCode (cname = "airlock_doctor_ok")] get; }
		public size_t count { [CCode (cname = "airlock_doctor_count")] get; }
		[CCode (cname = "airlock_doctor_check")]
		public unowned Check? check (size_t i);
		[CCode (cname = "airlock_doctor_json")]
		public unowned string json ();
	}

	/* ── Text ── */

	[CCode (cname = "airlock_text_inert")]
	public string? text_inert ([CCode (array_length_type = "size_t", type = "const char *")] uint8[] bytes);
	[CCode (cname = "airlock_text_json")]
	public string? text_json ([CCode (array_length_type = "size_t", type = "const char *")] uint8[] bytes);
	[CCode (cname = "airlock_text_base64")]
	public string? text_base64 ([CCode (array_length_type = "size_t", type = "const void *")] uint8[] bytes);
	/* ret: 65 bytes, the digits and a NUL. */
	[CCode (cname = "airlock_text_sha256")]
	public void text_sha256 ([CCode (array_length_type = "size_t", type = "const void *")] uint8[] bytes, [CCode (array_length = false, type = "char *")] uint8[] ret);
	[CCode (cname = "airlock_text_toml")]
	public int text_toml ([CCode (array_length_type = "size_t", type = "const char *")] uint8[] text, string name, out string? json, out Error err);
	[CCode (cname = "airlock_text_bool")]
	public int text_bool (string word);
	[CCode (cname = "airlock_text_columns")]
	public size_t text_columns ([CCode (array_length_type = "size_t", type = "const char *")] uint8[] text);
	[CCode (cname = "airlock_text_fit")]
	public size_t text_fit ([CCode (array_length_type = "size_t", type = "const char *")] uint8[] text, size_t columns);
	[CCode (cname = "airlock_text_nearest")]
	public unowned string? text_nearest (string word, [CCode (array_length = false, array_null_terminated = true, type = "const char *const *")] string[] candidates);

	/* ── Files ── */

	[Compact]
	[CCode (cname = "struct airlock_upload", free_function = "airlock_upload_free", cheader_filename = "airlock/files.h")]
	public class Upload {
		[CCode (cname = "airlock_upload_write")]
		public int write ([CCode (array_length_type = "size_t", type = "const void *")] uint8[] bytes, out Error err);
		[CCode (cname = "airlock_upload_commit")]
		public int commit (out Files? result, out Error err);
	}

	[Compact]
	[CCode (cname = "struct airlock_place", free_function = "airlock_place_free", cheader_filename = "airlock/files.h")]
	public class Place {
		[CCode (cname = "airlock_place_open")]
		public static int open (Settings settings, string? run, out Place? place, out Error err);
		public bool is_workspace { [CCode (cname = "airlock_place_is_workspace")] get; }
		public unowned string dir { [CCode (cname = "airlock_place_dir")] get; }
		[CCode (cname = "airlock_files_ls")]
		public int ls (string? path, out Files? result, out Error err);
		[CCode (cname = "airlock_files_read")]
		public int read (string path, int64 offset, int64 limit, out Files? result, out Error err);
		[CCode (cname = "airlock_files_open")]
		public int open_file (string path, out int fd, out Error err);
		[CCode (cname = "airlock_upload_begin")]
		public int upload (string path, out Upload? upload, out Error err);
		[CCode (cname = "airlock_files_glob")]
		public int glob (string pattern, string? path, int64 max, out Files? result, out Error err);
		[CCode (cname = "airlock_files_grep")]
		public int grep (string text, string? path, string? glob, int64 max, out Files? result, out Error err);
		[CCode (cname = "airlock_files_write")]
		public int write (string path, [CCode (array_length_type = "size_t", type = "const void *")] uint8[] content, out Files? result, out Error err);
		[CCode (cname = "airlock_files_edit")]
		public int edit (string path, string old_text, string new_text, bool all, out Files? result, out Error err);
		[CCode (cname = "airlock_files_delete")]
		public int delete (string path, out Files? result, out Error err);
	}

	[Compact]
	[CCode (cname = "struct airlock_files_entry", free_function = "", cheader_filename = "airlock/files.h")]
	public class FilesEntry {
		public unowned string path;
		public unowned string type;
		public int is_dir;
		public uint64 size;
		public int64 modified_ns;
	}

	[Compact]
	[CCode (cname = "struct airlock_files_match", free_function = "", cheader_filename = "airlock/files.h")]
	public class FilesMatch {
		public unowned string path;
		public int64 line;
		public unowned string text;
		public size_t text_size;
		public int cut;
	}

	[Compact]
	[CCode (cname = "struct airlock_files_content", free_function = "", cheader_filename = "airlock/files.h")]
	public class FilesContent {
		[CCode (array_length_cname = "size", array_length_type = "size_t")]
		public unowned uint8[] bytes;
		public int is_text;
		public int64 start_line;
		public int64 end_line;
		public int64 total_lines;
		public int64 next_offset;
		public int cut;
	}

	[CCode (cname = "enum airlock_files_action", cprefix = "AIRLOCK_FILES_", cheader_filename = "airlock/files.h", has_type_id = false)]
	public enum FilesAction { CREATED, REPLACED, EDITED, DELETED, UNCHANGED;
		[CCode (cname = "airlock_files_action_name")]
		public unowned string name ();
	}

	[Compact]
	[CCode (cname = "struct airlock_files_change", free_function = "", cheader_filename = "airlock/files.h")]
	public class FilesChange {
		public unowned string path;
		public FilesAction action;
		public uint64 count;
		public unowned string? run;
		public ChangesState state;
		public Reason? reason;
	}

	[Compact]
	[CCode (cname = "struct airlock_files", free_function = "airlock_files_free", cheader_filename = "airlock/files.h")]
	public class Files {
		[CCode (cname = "airlock_files_json")]
		public unowned string json ();
		[CCode (cname = "airlock_files_text")]
		public unowned string text ();
		public size_t entry_count { [CCode (cname = "airlock_files_entry_count")] get; }
		[CCode (cname = "airlock_files_entry_at")]
		public unowned FilesEntry? entry_at (size_t i);
		public size_t match_count { [CCode (cname = "airlock_files_match_count")] get; }
		[CCode (cname = "airlock_files_match_at")]
		public unowned FilesMatch? match_at (size_t i);
		public bool truncated { [CCode (cname = "airlock_files_truncated")] get; }
		[CCode (cname = "airlock_files_content")]
		public unowned FilesContent? content ();
		[CCode (cname = "airlock_files_change")]
		public unowned FilesChange? change ();
	}

	/* ── Projects ── */

	[CCode (cname = "enum airlock_link_state", cprefix = "AIRLOCK_LINK_", has_type_id = false, cheader_filename = "airlock/project.h")]
	public enum LinkState {
		UNANSWERED,
		ALLOWED,
		DENIED,
		REFUSED
	}
	[CCode (cname = "airlock_link_state_name", cheader_filename = "airlock/project.h")]
	public unowned string link_state_name (LinkState state);

	[CCode (cname = "enum airlock_link_reason", cprefix = "AIRLOCK_LINK_", has_type_id = false, cheader_filename = "airlock/project.h")]
	public enum LinkReason {
		NO_REASON,
		HOME,
		ABOVE_PROJECT,
		SECRET,
		ABOVE_SECRET,
		OUTSIDE_HOME,
		WITHOUT_HOME
	}

	[Compact]
	[CCode (cname = "struct airlock_link", free_function = "", cheader_filename = "airlock/project.h")]
	public class Link {
		public unowned string path;
		public unowned string target;
		public unowned string? before;
		public LinkState state;
		public LinkReason reason;
		public unowned string because;
	}

	[Compact]
	[CCode (cname = "struct airlock_links", free_function = "airlock_links_free", cheader_filename = "airlock/project.h")]
	public class Links {
		public size_t count { [CCode (cname = "airlock_links_count")] get; }
		[CCode (cname = "airlock_links_at")]
		public unowned Link? at (size_t i);
		public unowned string project { [CCode (cname = "airlock_links_project")] get; }
		public size_t note_count { [CCode (cname = "airlock_links_note_count")] get; }
		[CCode (cname = "airlock_links_note")]
		public unowned Note? note (size_t i);
		[CCode (cname = "airlock_links_json")]
		public unowned string json ();
	}

	[CCode (cname = "enum airlock_unclaimed", cprefix = "AIRLOCK_", has_type_id = false, cheader_filename = "airlock/project.h")]
	public enum Unclaimed {
		CLAIMABLE,
		UNCLAIMED_ROOT,
		UNCLAIMED_HOME,
		UNCLAIMED_ABOVE_HOME,
		UNCLAIMED_DOT_DIRECTORY,
		UNCLAIMED_AGENT_SETTINGS,
		UNCLAIMED_TEMPORARY,
		UNCLAIMED_IN_TEMPORARY
	}
	[CCode (cname = "airlock_unclaimed_words", cheader_filename = "airlock/project.h")]
	public unowned string unclaimed_words (Unclaimed reason);
}
