//! The system calls that each command makes after its set-up.
//!
//! A test traces the commands and fails on a call that is missing here, and on one that none makes.

use libc::c_long;

/// The calls of a command, or of some of its threads.
#[derive(Debug)]
pub struct List {
    pub name: &'static str,
    pub calls: &'static [&'static [c_long]],
    /// Commands of bpf(2). If there are none, it is not allowed at all.
    pub bpf_commands: &'static [u32],
}

/// Calls that end the process: only somebody who has taken it over makes them.
pub const FATAL: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
];

/// Memory, threads, signals and the end, for every command: which of these a run makes depends on the allocator and on how its
/// threads are scheduled.
pub const PROCESS: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    // The handler of a signal tells the thread that waits for signals. Requests and answers on sockets, too.
    libc::SYS_sendto,
    // Where the clocks and the number of the CPU cannot be read without the kernel.
    libc::SYS_clock_gettime,
    libc::SYS_getcpu,
    // The version of the kernel, for messages about what it refused.
    libc::SYS_uname,
    // A panic's message, and its end.
    libc::SYS_getcwd,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    // Of a newer C library, for what older ones do with newfstatat.
    libc::SYS_fstat,
];

/// Starts a thread; flags that make namespaces are refused. clone3(2) is not allowed, because its flags are in memory that a
/// filter cannot read: the C library falls back to clone(2).
pub const START_THREAD: c_long = libc::SYS_clone;

/// Files that are opened late: names of tables and groups.
const FILES: &[c_long] = &[libc::SYS_openat, libc::SYS_read, libc::SYS_statx];

/// The named network namespaces, listed again when one gets a number.
const NAMESPACES: &[c_long] = &[libc::SYS_getdents64, libc::SYS_newfstatat];

/// Whether there is a terminal.
const TERMINAL: &[c_long] = &[libc::SYS_ioctl];

/// Files that are created, in directories where other users may have put links.
const CREATE: &[c_long] = &[
    libc::SYS_fstatfs,
    libc::SYS_geteuid,
    libc::SYS_newfstatat,
    libc::SYS_readlinkat,
];

/// Files that are cut to whole blocks when the disk is full, and those that are written again.
const CUT: &[c_long] = &[libc::SYS_ftruncate, libc::SYS_lseek];

/// Files that are removed, by rotation and at the end of the control socket, or locked: the record of what a capture restores.
const OUTPUT: &[c_long] = &[
    libc::SYS_flock,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_unlinkat,
];

/// Files that appear under their names when they are complete, and their directories; files for which the spool of uploads has no
/// room, and its empty directories, are removed.
const REPLACE: &[c_long] = &[
    libc::SYS_fsync,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_mkdirat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_unlinkat,
];

/// A page that appears under its name when it is complete, and is removed if the disk is full.
const PAGE: &[c_long] = &[
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_unlinkat,
];

/// A screen on the terminal, and its keys.
pub const SCREEN: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getpgrp,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_getpgid,
    libc::SYS_ioctl,
    libc::SYS_openat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_read,
    libc::SYS_socketpair,
];

/// Netlink requests: counters of interfaces.
const NETLINK: &[c_long] = &[libc::SYS_recvfrom];

/// Waiting for one of several descriptors.
const WAIT: &[c_long] = &[libc::SYS_epoll_ctl, libc::SYS_epoll_pwait];

/// A reader of rings: their counters, how it is scheduled, and the socket's filter at the end.
const READER: &[c_long] = &[
    libc::SYS_getsockopt,
    libc::SYS_pipe2,
    libc::SYS_sched_getattr,
    libc::SYS_sched_setattr,
    libc::SYS_setsockopt,
];

/// Readers on CPUs of their own, and the recorder: threads that wake each other. A single one waits for two stops. What several
/// readers have encoded is written from where it is.
const READERS: &[c_long] = &[
    libc::SYS_epoll_create1,
    libc::SYS_eventfd2,
    libc::SYS_sched_setaffinity,
    libc::SYS_writev,
];

/// The command that runs beside the capture is ended.
const END_COMMAND: &[c_long] = &[libc::SYS_pidfd_send_signal];

/// The end of a program that decodes packets, or that guards tc filters before Linux 6.6.
const CHILD: &[c_long] = &[libc::SYS_wait4];

/// Connections to a server.
const SERVER: &[c_long] = &[libc::SYS_accept4, libc::SYS_recvfrom];

/// The end of a connection to a collector of flows, and what the kernel says of the datagrams that it refused.
const COLLECTOR: &[c_long] = &[libc::SYS_recvfrom, libc::SYS_shutdown];

/// Looking names up, by the C library and its modules, and requests to the kernel over new sockets. For commands that do so,
/// beside their list, in which are those that open and read files.
pub const NEW_SOCKETS: &[c_long] = &[
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_pread64,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_setsockopt,
    libc::SYS_socket,
    libc::SYS_statx,
];

/// `enum bpf_cmd` in include/uapi/linux/bpf.h.
const MAP_LOOKUP_ELEM: u32 = 1;
const MAP_UPDATE_ELEM: u32 = 2;
const MAP_DELETE_ELEM: u32 = 3;
const MAP_GET_NEXT_KEY: u32 = 4;
const PROG_TEST_RUN: u32 = 10;
const MAP_LOOKUP_BATCH: u32 = 24;

pub static READ: List = List {
    name: "read",
    calls: &[
        PROCESS,
        FILES,
        TERMINAL,
        CREATE,
        CUT,
        CHILD,
        COLLECTOR,
        PAGE,
        &[libc::SYS_pread64],
    ],
    bpf_commands: &[],
};

/// Packets or flows of files, written as columns.
pub static COLUMNS: List = List {
    name: "columns",
    calls: &[
        PROCESS,
        FILES,
        TERMINAL,
        CREATE,
        CUT,
        REPLACE,
        COLLECTOR,
        &[libc::SYS_pread64],
    ],
    bpf_commands: &[],
};

/// Flows of a capture, written as columns.
pub static FLOWS: List = List {
    name: "flows",
    calls: &[
        PROCESS, FILES, TERMINAL, CREATE, CUT, REPLACE, NETLINK, WAIT, READER, COLLECTOR,
    ],
    bpf_commands: &[MAP_LOOKUP_ELEM],
};

pub static CAPTURE: List = List {
    name: "capture",
    calls: &[
        PROCESS,
        FILES,
        TERMINAL,
        CREATE,
        CUT,
        OUTPUT,
        NETLINK,
        WAIT,
        READER,
        READERS,
        END_COMMAND,
        CHILD,
        SERVER,
        COLLECTOR,
    ],
    bpf_commands: &[MAP_LOOKUP_ELEM],
};

pub static COUNT: List = List {
    name: "count",
    calls: &[
        PROCESS,
        NETLINK,
        SCREEN,
        CHILD,
        &[libc::SYS_timerfd_settime],
    ],
    bpf_commands: &[
        MAP_LOOKUP_ELEM,
        MAP_UPDATE_ELEM,
        MAP_GET_NEXT_KEY,
        MAP_LOOKUP_BATCH,
    ],
};

/// A page that cannot be replaced is emptied before it is written, and when the disk is full.
pub static PING: List = List {
    name: "ping",
    calls: &[
        PROCESS,
        SCREEN,
        PAGE,
        &[
            libc::SYS_epoll_ctl,
            libc::SYS_ftruncate,
            libc::SYS_getsockopt,
            libc::SYS_recvmsg,
            libc::SYS_timerfd_settime,
        ],
    ],
    bpf_commands: &[],
};

/// It runs programs that send and count, and asks for neighbours. A sweep keeps its state in a file.
pub static PING_XDP: List = List {
    name: "ping-xdp",
    calls: &[
        PROCESS,
        SCREEN,
        NETLINK,
        PAGE,
        &[libc::SYS_fdatasync, libc::SYS_flock, libc::SYS_ftruncate],
    ],
    bpf_commands: &[PROG_TEST_RUN, MAP_LOOKUP_BATCH],
};

/// It follows the addresses of this host, and reads the counters of its program.
pub static RESPOND: List = List {
    name: "respond",
    calls: &[PROCESS, NETLINK],
    bpf_commands: &[MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, MAP_DELETE_ELEM],
};

/// It prints programs, and reads packets to try them.
pub static FILTER: List = List {
    name: "filter",
    calls: &[PROCESS, FILES, &[libc::SYS_pread64]],
    bpf_commands: &[],
};

/// It asks a capture over a socket of this host.
pub static CTL: List = List {
    name: "ctl",
    calls: &[
        PROCESS,
        &[
            libc::SYS_connect,
            libc::SYS_getdents64,
            libc::SYS_newfstatat,
            libc::SYS_openat,
            libc::SYS_recvfrom,
            libc::SYS_setsockopt,
            libc::SYS_socket,
        ],
    ],
    bpf_commands: &[],
};

/// It only prints.
pub static EXPLAIN: List = List {
    name: "explain",
    calls: &[PROCESS],
    bpf_commands: &[],
};

/// With hardware time stamps, the end restores what the interface stamps, and removes the record of that.
pub static LATENCY: List = List {
    name: "latency",
    calls: &[
        PROCESS,
        FILES,
        CREATE,
        CUT,
        OUTPUT,
        NETLINK,
        WAIT,
        READER,
        SCREEN,
        &[libc::SYS_getrusage, libc::SYS_recvmsg, libc::SYS_renameat],
    ],
    bpf_commands: &[MAP_LOOKUP_ELEM],
};

pub static MONITOR: List = List {
    name: "monitor",
    calls: &[PROCESS, FILES, NAMESPACES, NETLINK],
    bpf_commands: &[],
};

/// It opens its files again for each repetition. Live frames are sent by running their program.
pub static SEND: List = List {
    name: "send",
    calls: &[
        PROCESS,
        FILES,
        NETLINK,
        &[
            libc::SYS_clock_nanosleep,
            libc::SYS_epoll_create1,
            libc::SYS_epoll_ctl,
            libc::SYS_ftruncate,
            // Whether there is a terminal for the status line.
            libc::SYS_ioctl,
            libc::SYS_lseek,
            libc::SYS_pipe2,
            libc::SYS_pread64,
            libc::SYS_recvmsg,
            libc::SYS_sched_getattr,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sendmmsg,
            // Whether capabilities are missing, for the message about a refused program.
            libc::SYS_capget,
        ],
    ],
    bpf_commands: &[PROG_TEST_RUN],
};

/// It reads the capture once, and the index that is there.
pub static INDEX: List = List {
    name: "index",
    calls: &[
        PROCESS,
        FILES,
        CREATE,
        &[
            libc::SYS_pread64,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_renameat,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_unlinkat,
        ],
    ],
    bpf_commands: &[],
};

/// The threads that read what Wireshark's toolbar, a capture and another host say, from open pipes.
pub static EXTCAP: List = List {
    name: "extcap",
    calls: &[PROCESS, &[libc::SYS_read]],
    bpf_commands: &[],
};

/// It takes packets from a server over open sockets.
pub static RPCAP: List = List {
    name: "rpcap",
    calls: &[
        PROCESS,
        CREATE,
        CUT,
        &[
            libc::SYS_openat,
            libc::SYS_recvfrom,
            libc::SYS_statx,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_unlinkat,
        ],
    ],
    bpf_commands: &[],
};

/// The session of a client that captures over the network: it reads a ring that another thread has opened.
pub static SERVE: List = List {
    name: "serve",
    calls: &[
        PROCESS,
        SERVER,
        NETLINK,
        WAIT,
        &[
            libc::SYS_getpeername,
            libc::SYS_getsockname,
            libc::SYS_getsockopt,
            // How long the thread ran.
            libc::SYS_openat,
            libc::SYS_read,
            libc::SYS_setsockopt,
            libc::SYS_shutdown,
        ],
    ],
    bpf_commands: &[MAP_LOOKUP_ELEM],
};

/// The thread that uploads files to object storage, with the runtime of its connections. It also has [`NEW_SOCKETS`].
#[cfg(feature = "objects")]
pub static UPLOADS: List = List {
    name: "uploads",
    calls: &[
        PROCESS,
        FILES,
        CREATE,
        CUT,
        &[
            libc::SYS_epoll_create1,
            libc::SYS_epoll_ctl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_epoll_pwait,
            libc::SYS_eventfd2,
            libc::SYS_getsockopt,
            libc::SYS_shutdown,
            libc::SYS_writev,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_unlinkat,
        ],
    ],
    bpf_commands: &[],
};

/// The thread that connects to a collector of flows again. It also has [`NEW_SOCKETS`].
pub static IPFIX: List = List {
    name: "ipfix",
    calls: &[PROCESS, &[libc::SYS_getsockopt]],
    bpf_commands: &[],
};

/// The thread of the metrics, in every command.
pub static METRICS: List = List {
    name: "metrics",
    calls: &[PROCESS, SERVER, &[libc::SYS_shutdown]],
    bpf_commands: &[],
};

/// The thread that waits for signals. It starts before a command changes to the user of `--user`, and changes, too. A second signal
/// leaves the screen of a terminal.
pub static SIGNALS: List = List {
    name: "signals",
    calls: &[
        PROCESS,
        &[
            libc::SYS_ioctl,
            libc::SYS_openat,
            libc::SYS_recvfrom,
            libc::SYS_setgroups,
            libc::SYS_setresgid,
            libc::SYS_setresuid,
        ],
    ],
    bpf_commands: &[],
};

/// The thread that has started the command of a capture, and waits for its end.
pub static COMMAND: List = List {
    name: "command",
    calls: &[PROCESS, CHILD],
    bpf_commands: &[],
};

/// The process that finds out which process has a socket, from the open files of all.
pub static PROCESSES: List = List {
    name: "processes",
    calls: &[
        PROCESS,
        FILES,
        &[
            libc::SYS_getdents64,
            libc::SYS_newfstatat,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_readlink,
            #[cfg(not(target_arch = "x86_64"))]
            libc::SYS_readlinkat,
            libc::SYS_recvfrom,
        ],
    ],
    bpf_commands: &[],
};
