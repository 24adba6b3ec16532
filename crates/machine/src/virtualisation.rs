//! Recognises the hypervisor below the kernel and the container around this process.

use std::path::Path;

use samples::Virtualisation;

use crate::files::{located, text};
use crate::mount;

/// Recognises the hypervisor and the container of this process; `guest` is whether the processor reports a
/// hypervisor.
pub fn describe(guest: bool) -> Virtualisation {
    let dmi = |name: &str| text(format!("/sys/class/dmi/id/{name}"));
    let product = match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    };
    let named = hypervisor_leaf().or_else(|| text("/sys/hypervisor/type"));
    let hypervisor = named.or_else(|| guest.then(|| "unknown".into()));
    let groups = text("/proc/1/cgroup").unwrap_or_default() + &text("/proc/self/cgroup").unwrap_or_default();
    Virtualisation { hypervisor, product, container: container(&groups) }
}

fn container(groups: &str) -> Option<String> {
    let exists = |path: &str| located(path).exists();
    let variable = std::env::var("container").ok().filter(|name| !name.is_empty());
    if exists("/run/.containerenv") {
        return Some("podman".into());
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() || groups.contains("kubepods") {
        return Some("kubernetes".into());
    }
    // The marker file alone may come from an image that was unpacked into a virtual machine.
    let layered = || {
        let mounts = mount::parse(&text("/proc/self/mountinfo").unwrap_or_default());
        let root = mount::of_path(&mounts, Path::new("/"));
        root.is_some_and(|mount| mount.device.starts_with("0:"))
    };
    if groups.contains("/docker") || exists("/.dockerenv") && layered() {
        return Some("docker".into());
    }
    if groups.contains("/lxc") {
        return Some("lxc".into());
    }
    if groups.contains("/machine.slice/libpod") {
        return Some("podman".into());
    }
    variable.or_else(|| std::env::var_os("APPTAINER_CONTAINER").map(|_| "apptainer".into()))
}

/// The hypervisor's own name, from CPUID leaf 40000000.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "`__cpuid` has become a safe function in newer compilers")]
fn hypervisor_leaf() -> Option<String> {
    // SAFETY: CPUID exists on every x86-64 processor and changes only its four registers.
    let guest = unsafe { std::arch::x86_64::__cpuid(1) }.ecx & (1 << 31) != 0;
    // SAFETY: as above; the leaf is defined if the hypervisor bit is set.
    let found = guest.then(|| unsafe { std::arch::x86_64::__cpuid(0x4000_0000) })?;
    let bytes = [found.ebx, found.ecx, found.edx].map(u32::to_le_bytes).concat();
    Some(hypervisor_name(&String::from_utf8_lossy(&bytes)))
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_leaf() -> Option<String> {
    let compatible = text("/proc/device-tree/hypervisor/compatible")?;
    Some(hypervisor_name(&compatible))
}

fn hypervisor_name(signature: &str) -> String {
    match signature.trim_end_matches('\0').trim() {
        "KVMKVMKVM" | "Linux KVM Hv" | "linux,kvm" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" | "xen,xen" => "Xen",
        "TCGTCGTCGTCG" => "QEMU (emulated)",
        "bhyve bhyve" => "bhyve",
        other if !other.is_empty() => return other.to_owned(),
        _ => "unknown",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypervisors_have_readable_names() {
        assert_eq!(hypervisor_name("KVMKVMKVM\0\0\0"), "KVM");
        assert_eq!(hypervisor_name("Microsoft Hv"), "Hyper-V");
    }
}
