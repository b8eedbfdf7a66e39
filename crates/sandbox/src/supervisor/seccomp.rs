//! The system calls that programs in a cell may not make.
//!
//! Desktop programs need none of them, and each has let programs out of sandboxes or at other processes before. The list
//! follows Flatpak's and the default one of container engines. It leaves what Chromium's own sandbox is made of: user,
//! process and network namespaces, `chroot`, and further filters.

use std::collections::BTreeMap;
use std::io;

use libc::{EAFNOSUPPORT, ENOSYS, EPERM, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// Calls that are barred whatever their arguments, by what they would reach.
const BARRED: &[c_long] = &[
    // The kernel's keys: those of the user who started the cell among them.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Other processes' memory and descriptors.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Large interfaces of the kernel that are a frequent way out.
    libc::SYS_bpf,
    libc::SYS_fanotify_init,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Mounts, and files by handle instead of by path.
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    // The machine as a whole.
    libc::SYS_acct,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
];

/// Calls that change another process of the same user, with the argument that names the process. They may name any but the
/// first, which is the supervisor: it would be left without files or time.
const NOT_FOR_THE_FIRST: &[(c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// New namespaces that no browser's sandbox needs.
const BARRED_NAMESPACES: &[i32] =
    &[libc::CLONE_NEWNS, libc::CLONE_NEWCGROUP, libc::CLONE_NEWUTS, libc::CLONE_NEWIPC];

/// Time namespaces; as a flag of `clone`, this bit belongs to the signal number.
const TIME_NAMESPACE: i32 = 0x80;

/// The families of sockets that may be opened. What is missing reaches the host (`AF_VSOCK`) or rarely used parts of the
/// kernel.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Commands that put text into the input of a terminal.
const BARRED_IOCTLS: &[u32] = &[0x5412, 0x541C];

/// On x86-64, the same calls exist a second time under numbers with this bit, which a filter sees as others.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: &[c_long] = &[0, 0x4000_0000];
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: &[c_long] = &[0];
/// Calls that have other numbers there: `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, `ioctl`.
#[cfg(target_arch = "x86_64")]
const X32: &[c_long] = &[0x4000_0000 + 521, 0x4000_0000 + 528, 0x4000_0000 + 539, 0x4000_0000 + 540];
#[cfg(not(target_arch = "x86_64"))]
const X32: &[c_long] = &[];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Bars the calls for this thread and all that it starts. Cannot be undone.
pub(super) fn bar_system_calls() -> io::Result<()> {
    let filters = [
        (EPERM, barred().map_err(other)?),
        (EAFNOSUPPORT, families().map_err(other)?),
        // Its flags lie in memory, where no filter sees them. Callers then use `clone`.
        (ENOSYS, everywhere(libc::SYS_clone3, Vec::new()).collect()),
    ];
    for (error, rules) in filters {
        apply_filter(&compile(error, rules).map_err(other)?).map_err(other)?;
    }
    Ok(())
}

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("the filter of system calls: {error}"))
}

/// A filter that answers matching calls with an error. Programs of another architecture are killed.
fn compile(error: i32, rules: Rules) -> Result<BpfProgram, seccompiler::BackendError> {
    let answer = SeccompAction::Errno(error.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)?.try_into()
}

/// A call under all its numbers.
fn everywhere(call: c_long, rules: Vec<SeccompRule>) -> impl Iterator<Item = (i64, Vec<SeccompRule>)> {
    OTHER_NUMBERS.iter().map(move |bit| (call + bit, rules.clone()))
}

fn barred() -> Result<Rules, seccompiler::BackendError> {
    let word = SeccompCmpArgLen::Dword;
    let flag = |flag: i32| {
        let bits = u64::from(flag.cast_unsigned());
        SeccompRule::new(vec![SeccompCondition::new(0, word.clone(), SeccompCmpOp::MaskedEq(bits), bits)?])
    };
    let command = |command: &u32| {
        SeccompRule::new(vec![SeccompCondition::new(1, word.clone(), SeccompCmpOp::Eq, u64::from(*command))?])
    };
    let clone = BARRED_NAMESPACES.iter().map(|bit| flag(*bit)).collect::<Result<Vec<_>, _>>()?;
    let mut unshare = clone.clone();
    unshare.push(flag(TIME_NAMESPACE)?);
    let ioctl = BARRED_IOCTLS.iter().map(command).collect::<Result<Vec<_>, _>>()?;
    let conditional = [(libc::SYS_clone, clone), (libc::SYS_unshare, unshare), (libc::SYS_ioctl, ioctl)];
    let mut first = Vec::new();
    for (call, argument) in NOT_FOR_THE_FIRST {
        let names_it = SeccompCondition::new(*argument, word.clone(), SeccompCmpOp::Eq, 1)?;
        first.push((*call, vec![SeccompRule::new(vec![names_it])?]));
    }
    let whole = BARRED.iter().flat_map(|call| everywhere(*call, Vec::new()));
    let conditional = conditional.into_iter().chain(first).flat_map(|(call, rules)| everywhere(call, rules));
    Ok(whole.chain(conditional).chain(X32.iter().map(|number| (*number, Vec::new()))).collect())
}

/// Sockets of any family that is not listed.
fn families() -> Result<Rules, seccompiler::BackendError> {
    let differs = |family: &i32| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    let none_of_them = FAMILIES.iter().map(differs).collect::<Result<Vec<_>, _>>()?;
    let rules = vec![SeccompRule::new(none_of_them)?];
    Ok(everywhere(libc::SYS_socket, rules.clone()).chain(everywhere(libc::SYS_socketpair, rules)).collect())
}
