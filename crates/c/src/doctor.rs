//! Diagnosis of the host.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

use tapline::doctor::{DoctorError, Finding, Severity, SystemPaths, examine};

use crate::arguments::Text;
use crate::error::{c_string, tapline_error};
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// The result of an examination.
pub struct tapline_doctor(());

/// How much a finding matters.
#[repr(u32)]
pub enum tapline_severity {
    /// Useful to know.
    Info = 0,
    /// Captures or measurements are worse than they could be.
    Warning = 1,
    /// Captures or measurements are wrong or impossible.
    Severe = 2,
}

/// A problem for captures or pings.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_finding {
    /// Name of the check. Stable across releases.
    pub id: *const c_char,
    /// What the check observed.
    pub observed: *const c_char,
    /// How that affects captures or pings.
    pub effect: *const c_char,
    /// Shell commands for root that solve the problem, one in a line; perhaps empty. A line that starts with `#` is advice.
    pub remedy: *const c_char,
    /// A `tapline_severity`.
    pub severity: u32,
    /// Zero.
    pub reserved: u32,
}

/// The strings of a finding.
struct Strings {
    id: CString,
    observed: CString,
    effect: CString,
    remedy: CString,
    severity: u32,
}

impl From<&Finding> for Strings {
    fn from(finding: &Finding) -> Self {
        Self {
            id: c_string(finding.id),
            observed: c_string(&finding.observed),
            effect: c_string(&finding.effect),
            remedy: c_string(&finding.remedy.join("\n")),
            severity: match finding.severity {
                Severity::Info => tapline_severity::Info,
                Severity::Warning => tapline_severity::Warning,
                Severity::Severe => tapline_severity::Severe,
            } as u32,
        }
    }
}

struct Report;

impl Object for Report {
    type Handle = tapline_doctor;
    type Shared = Vec<Strings>;
    const KIND: Kind = Kind::Doctor;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Report> = Table::new();
        &TABLE
    }
}

/// Checks the host, the network namespace of the calling thread and, unless `interface` is null, that interface. Takes
/// about 0.1 s. Changes nothing. Free the result with `tapline_doctor_free`.
///
/// Privileges: CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN for all checks; without them fewer are made.
///
/// Errors: NOT_FOUND without such an interface.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_doctor_examine(
    interface: Text<'_>,
    out_doctor: Option<&mut MaybeUninit<*mut tapline_doctor>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_doctor = out_doctor.ok_or_else(|| Error::null("out_doctor"))?;
        let interface = interface.optional("interface")?;
        let report = examine(interface, &SystemPaths::default()).map_err(|error| match error {
            DoctorError::Link(error) => error.into(),
            other => Error::system(&other),
        })?;
        let findings = report.findings.iter().map(Into::into).collect();
        out_doctor.write(Report::table().insert(Report, findings)?);
        Ok(tapline_status::Ok)
    })
}

/// The finding at position `index`, the most severe first. END behind the last. Its strings are valid until the result is
/// freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_doctor_finding(
    doctor: *const tapline_doctor,
    index: usize,
    out_finding: Option<&mut MaybeUninit<tapline_finding>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_finding = out_finding.ok_or_else(|| Error::null("out_finding"))?;
        Report::table().shared(doctor, |findings| {
            let Some(found) = findings.get(index) else {
                return Ok(tapline_status::End);
            };
            out_finding.write(tapline_finding {
                id: found.id.as_ptr(),
                observed: found.observed.as_ptr(),
                effect: found.effect.as_ptr(),
                remedy: found.remedy.as_ptr(),
                severity: found.severity,
                reserved: 0,
            });
            Ok(tapline_status::Ok)
        })
    })
}

/// Frees the result of an examination. Does nothing if `doctor` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_doctor_free(
    doctor: *mut tapline_doctor,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !doctor.is_null() {
            Report::table().remove(doctor)?;
        }
        Ok(tapline_status::Ok)
    })
}
