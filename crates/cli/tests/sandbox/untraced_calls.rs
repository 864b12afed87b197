//! System calls that the traced commands of a list do not make, and the tests whose commands make them.

/// Calls of a list.
#[derive(Clone, Copy, Debug)]
pub struct UntracedCalls {
    pub list: &'static str,
    pub calls: &'static [i64],
    /// When they are made.
    pub why: &'static str,
    /// Tests of this program that fail without any of them.
    pub tests: &'static [&'static str],
}

const fn untraced(
    list: &'static str,
    calls: &'static [i64],
    why: &'static str,
    tests: &'static [&'static str],
) -> UntracedCalls {
    UntracedCalls {
        list,
        calls,
        why,
        tests,
    }
}

const FULL_DISK: &str = "a file is cut to whole blocks, or removed";
const PAGE: &str = "a page that cannot be replaced is emptied";
const COMPLETE_PAGE: &str = "a complete page replaces the old one";
const HALF_PAGE: &str = "a page that cannot be completed is removed";
const SCREEN: &str = "a screen on a terminal";
const STATUS_LINE: &str = "the width of a terminal";
const PIPES: &str = "files that cannot be mapped, and pipes";
const SPOOL: &str = "directories of the spool";
const COLLECTOR: &str = "the end of a connection to a collector of flows";

const CLOSE: &[&str] = &["flows::ipfix::every_kind_of_run_closes_its_connection"];

const CUT: &[i64] = &[libc::SYS_ftruncate, libc::SYS_lseek];

/// The calls of `SCREEN` without those of a suspended screen.
const SCREEN_CALLS: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_ioctl,
    libc::SYS_poll,
    libc::SYS_getpgrp,
    libc::SYS_socketpair,
];

pub const UNTRACED_CALLS: &[UntracedCalls] = &[
    untraced("capture", &[libc::SYS_shutdown], COLLECTOR, CLOSE),
    untraced(
        "capture",
        &[libc::SYS_rmdir],
        "control groups",
        &["capture::sockets::a_capture_removes_its_group"],
    ),
    untraced(
        "capture",
        &[libc::SYS_flock],
        "the record of what a capture restores",
        &[
            "kernels::hwtstamp::a_file_has_the_devices_stamps_to_the_nanosecond_and_names_their_source",
        ],
    ),
    untraced(
        "capture",
        CUT,
        FULL_DISK,
        &["capture::failures::a_full_disk_keeps_what_was_written"],
    ),
    untraced(
        "capture",
        &[libc::SYS_ioctl],
        STATUS_LINE,
        &["sandbox::streams::a_status_line_of_a_capture_is_drawn"],
    ),
    untraced(
        "columns",
        &[libc::SYS_recvfrom, libc::SYS_shutdown],
        COLLECTOR,
        CLOSE,
    ),
    untraced(
        "columns",
        &[libc::SYS_read],
        PIPES,
        &["sandbox::streams::pipes_are_read"],
    ),
    untraced(
        "columns",
        &[libc::SYS_unlink],
        FULL_DISK,
        &["columns::a_full_disk_leaves_no_half_file"],
    ),
    untraced(
        "columns",
        CUT,
        FULL_DISK,
        &["columns::a_full_disk_leaves_no_half_file"],
    ),
    untraced(
        "columns",
        &[libc::SYS_rmdir],
        SPOOL,
        &["object_storage::spool::a_full_spool_holds_up_the_reading_of_files"],
    ),
    untraced(
        "columns",
        &[libc::SYS_ioctl],
        STATUS_LINE,
        &["sandbox::streams::a_status_line_of_a_capture_is_drawn"],
    ),
    untraced(
        "count",
        &[libc::SYS_wait4],
        "the guard of tc filters before Linux 6.6",
        &["kernels::old_kernel::packets_are_counted_in_both_directions"],
    ),
    untraced(
        "count",
        SCREEN_CALLS,
        SCREEN,
        &["count::text::keys_and_failures_of_a_screen"],
    ),
    untraced(
        "filter",
        &[libc::SYS_read],
        PIPES,
        &["sandbox::streams::pipes_are_read"],
    ),
    untraced("flows", &[libc::SYS_shutdown], COLLECTOR, CLOSE),
    untraced(
        "flows",
        &[
            libc::SYS_read,
            libc::SYS_statx,
            libc::SYS_pipe2,
            libc::SYS_sched_getattr,
            libc::SYS_sched_setattr,
        ],
        "how a reader of rings is scheduled while packets are dense",
        &["sandbox::streams::dense_packets_change_how_a_reader_of_flows_is_scheduled"],
    ),
    untraced(
        "flows",
        &[libc::SYS_ioctl],
        STATUS_LINE,
        &["sandbox::streams::a_status_line_of_a_capture_is_drawn"],
    ),
    untraced(
        "flows",
        &[libc::SYS_fstatfs, libc::SYS_geteuid, libc::SYS_readlinkat],
        "files after the first",
        &["columns::files_of_a_long_run_are_completed_while_it_runs"],
    ),
    untraced(
        "flows",
        &[libc::SYS_unlink],
        FULL_DISK,
        &["sandbox::full_disks::what_cannot_be_written_is_cut_or_removed"],
    ),
    untraced(
        "flows",
        CUT,
        FULL_DISK,
        &["sandbox::full_disks::what_cannot_be_written_is_cut_or_removed"],
    ),
    untraced(
        "flows",
        &[libc::SYS_rmdir],
        SPOOL,
        &["object_storage::spool::a_full_spool_gives_up_the_oldest_files_and_counts_them"],
    ),
    untraced(
        "flows",
        &[libc::SYS_getsockopt],
        "an interface that goes down",
        &["sandbox::streams::flows_end_with_their_interface"],
    ),
    untraced(
        "latency",
        &[
            libc::SYS_recvmsg,
            libc::SYS_fstatfs,
            libc::SYS_ftruncate,
            libc::SYS_geteuid,
            libc::SYS_lseek,
            libc::SYS_newfstatat,
            libc::SYS_readlinkat,
            libc::SYS_statx,
            libc::SYS_flock,
            libc::SYS_unlink,
            libc::SYS_rmdir,
        ],
        "time stamps of the device, and the record of what it restores",
        &["kernels::hwtstamp::latency_takes_the_devices_stamps_with_every_back_end"],
    ),
    untraced(
        "latency",
        &[libc::SYS_renameat],
        COMPLETE_PAGE,
        &["report_of_runs::the_page_of_a_measurement_has_every_packet"],
    ),
    untraced(
        "latency",
        SCREEN_CALLS,
        SCREEN,
        &["latency::it_fits_every_window_and_follows_its_changes"],
    ),
    untraced(
        "monitor",
        &[libc::SYS_getdents64, libc::SYS_newfstatat],
        "numbers of network namespaces",
        &["net::netns::a_monitor_tells_of_numbers"],
    ),
    untraced(
        "ping",
        SCREEN_CALLS,
        SCREEN,
        &["ping::live::a_suspended_run_gives_the_terminal_back"],
    ),
    untraced(
        "ping",
        &[libc::SYS_timerfd_settime],
        "waits for less than a millisecond",
        &["ping::json::a_histogram_has_every_answer"],
    ),
    untraced(
        "ping",
        &[libc::SYS_renameat],
        COMPLETE_PAGE,
        &["report_of_runs::the_page_of_a_run_has_every_probe_and_answer"],
    ),
    untraced(
        "ping",
        &[libc::SYS_unlink],
        HALF_PAGE,
        &["sandbox::full_disks::no_half_page_is_left"],
    ),
    untraced(
        "ping",
        &[libc::SYS_ftruncate],
        PAGE,
        &["sandbox::full_disks::no_half_page_is_left"],
    ),
    untraced(
        "ping-xdp",
        &[libc::SYS_ftruncate],
        PAGE,
        &["sandbox::full_disks::no_half_page_is_left"],
    ),
    untraced(
        "ping-xdp",
        SCREEN_CALLS,
        SCREEN,
        &["ping::xdp::forms::the_live_table_has_answers_and_losses"],
    ),
    untraced(
        "read",
        &[libc::SYS_recvfrom, libc::SYS_shutdown],
        COLLECTOR,
        CLOSE,
    ),
    untraced(
        "read",
        &[libc::SYS_renameat],
        COMPLETE_PAGE,
        &["report::page_file::a_page_is_replaced_as_a_whole"],
    ),
    untraced(
        "read",
        CUT,
        FULL_DISK,
        &["sandbox::full_disks::what_cannot_be_written_is_cut_or_removed"],
    ),
    untraced(
        "read",
        &[libc::SYS_read],
        PIPES,
        &["sandbox::streams::pipes_are_read"],
    ),
    untraced(
        "rpcap",
        CUT,
        FULL_DISK,
        &["sandbox::full_disks::what_a_server_sends_is_cut"],
    ),
    untraced(
        "send",
        CUT,
        FULL_DISK,
        &["sandbox::full_disks::what_cannot_be_written_is_cut_or_removed"],
    ),
    untraced(
        "send",
        &[libc::SYS_openat, libc::SYS_read, libc::SYS_statx],
        PIPES,
        &["sandbox::streams::pipes_are_read"],
    ),
    untraced(
        "send",
        &[libc::SYS_capget],
        "which capabilities are missing, if the kernel refuses live frames",
        &["sandbox::sending_makes_the_calls_of_its_list"],
    ),
    untraced(
        "processes",
        &[libc::SYS_read, libc::SYS_statx],
        "what a process is called, which a file has",
        &["capture::who::a_file_says_which_process_sent_a_packet"],
    ),
    untraced(
        "signals",
        &[libc::SYS_openat],
        "a second signal leaves a screen",
        &["ping::live::a_second_signal_restores_the_terminal_too"],
    ),
    untraced(
        "uploads",
        CUT,
        "an upload that a killed run began",
        &["object_storage::uploads::an_upload_in_parts_goes_on_where_a_killed_run_was"],
    ),
];
