//! Finds which ranks share a machine: its memory and its clock.
//!
//! Names of hosts do not tell, since machines that were cloned share them, and MPI libraries have been wrong. Ranks of one
//! node see the same boot of a kernel, the same `/dev/shm` and the same time namespace. All ranks gather a number made of these,
//! and then prove it: the first rank of a node, its *leader*, writes a token into a file in `/dev/shm`, and the others
//! read it. Whoever cannot read it is a node of its own.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use ranks::CommError;

use crate::link::Link;
use crate::nodes::Nodes;

/// Where ranks of a node see the same files in memory.
const SHARED: &str = "/dev/shm";
/// The most bytes of a host's name; Linux allows 64.
const NAME: usize = 256;
/// A tag on the world, at the start; see `communicator` for others.
const TAG_NAME: std::ffi::c_int = 4;

/// Finds the nodes of the job. Collective over the world; `job` is a number of this job alone.
pub(crate) fn find(world: &Link, job: u64) -> Result<Nodes, CommError> {
    let identity = identity();
    // Without random numbers the time would be as good: nobody else is to know it by accident.
    let token = ranks::random_number().unwrap_or_else(|_| job.rotate_left(32));
    let all = world.all_gather_of([identity.unwrap_or_default(), token])?;
    let identities: Vec<u64> = all.iter().map(|[identity, _]| *identity).collect();
    let leader = leaders(&identities);
    let own = leader[world.rank as usize];
    let file = token_file(job, own);
    // A node of one rank has nothing to prove.
    let has_members = leader.iter().filter(|other| **other == own).nth(1).is_some();
    let written = (own == world.rank && has_members).then(|| Written::new(&file, token));
    // Nobody reads before all have written, and no file goes before all have read.
    world.all_gather_of([0])?;
    let proven = own == world.rank || read(&file) == Some(all[own as usize][1]);
    let claims = world.all_gather_of([u64::from(if proven { own } else { world.rank })])?;
    drop(written);
    Ok(Nodes { leader: claims.into_iter().map(|[leader]| leader as u32).collect() })
}

/// Brings the names of the nodes to rank 0, straight from their leaders; the others get nothing. Collective over the world.
pub(crate) fn names(nodes: &Nodes, world: &Link) -> Result<Vec<String>, CommError> {
    let mine = Names::of_this_machine();
    if world.rank > 0 {
        if nodes.leader(world.rank) == world.rank {
            world.send(0, TAG_NAME, &mine.to_bytes())?;
        }
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for leader in nodes.leaders() {
        let mut bytes = mine.to_bytes();
        if leader > 0 {
            world.receive(leader, TAG_NAME, &mut bytes)?;
        }
        names.push(Names::from_bytes(&bytes));
    }
    Ok(called(&names))
}

/// By whatever ranks see the same machine; `None` where this one does not tell.
fn identity() -> Option<u64> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let memory = std::fs::metadata(SHARED).ok()?;
    // A kernel without time namespaces has one time.
    let time = std::fs::metadata("/proc/self/ns/time").map_or(0, |time| time.ino());
    // Unlike that of a map, this hasher gives the same in every process.
    let mut hasher = DefaultHasher::new();
    hasher.write(&boot);
    [memory.dev(), memory.ino(), time].into_iter().for_each(|number| hasher.write_u64(number));
    Some(hasher.finish().max(1))
}

/// The first rank of the same identity, of each rank; 0 is no identity.
fn leaders(identities: &[u64]) -> Vec<u32> {
    let mut first = HashMap::new();
    let of = |(rank, identity): (u32, &u64)| match identity {
        0 => rank,
        known => *first.entry(*known).or_insert(rank),
    };
    (0..).zip(identities).map(of).collect()
}

fn token_file(job: u64, leader: u32) -> PathBuf {
    format!("{SHARED}/lastrank-{job:016x}-{leader}").into()
}

/// A token in a file, which goes with it.
struct Written(Option<PathBuf>);

impl Written {
    /// Where it cannot be written, nobody reads it, and each rank is a node of its own.
    fn new(path: &PathBuf, token: u64) -> Self {
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let Ok(mut file) = file else { return Self(None) };
        drop(file.write_all(&token.to_ne_bytes()));
        Self(Some(path.clone()))
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(std::fs::remove_file(path));
        }
    }
}

fn read(path: &PathBuf) -> Option<u64> {
    // Anybody can put something of this name there: a pipe is not to be waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// What a node is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// By itself.
    host: String,
    /// By Slurm, which may run several nodes on one host. Launchers may copy the variable of one node to all others.
    slurm: String,
}

impl Names {
    fn of_this_machine() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let slurm = std::env::var("SLURMD_NODENAME").unwrap_or_default();
        Self { host: host.trim().into(), slurm }
    }

    /// Always as many.
    fn to_bytes(&self) -> Vec<u8> {
        let padded = |name: &str| {
            let mut bytes = name.as_bytes().to_vec();
            bytes.resize(NAME, 0);
            bytes
        };
        [padded(&self.host), padded(&self.slurm)].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let name = |at: usize| {
            let bytes = bytes.get(at..at + NAME).unwrap_or_default();
            let name = String::from_utf8_lossy(bytes);
            name.trim_end_matches('\0').lines().next().unwrap_or_default().to_owned()
        };
        Self { host: name(0), slurm: name(NAME) }
    }
}

/// A name for each node, all different: hosts by their own names; where several share one, by those of Slurm, or else numbered.
fn called(nodes: &[Names]) -> Vec<String> {
    let is_good = |names: &[String]| {
        let mut seen = std::collections::HashSet::new();
        names.iter().all(|name| !name.is_empty() && seen.insert(name))
    };
    let hosts: Vec<String> = nodes.iter().map(|names| names.host.clone()).collect();
    let slurm: Vec<String> = nodes.iter().map(|names| names.slurm.clone()).collect();
    if is_good(&hosts) || nodes.len() == 1 {
        return hosts;
    }
    if is_good(&slurm) {
        return slurm;
    }
    let mut times: HashMap<&str, u32> = HashMap::new();
    let mut numbered = Vec::new();
    for host in &hosts {
        let time = times.entry(host).or_default();
        *time += 1;
        numbered.push(if *time == 1 { host.clone() } else { format!("{host}#{time}") });
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[(&str, &str)]) -> Vec<Names> {
        all.iter().map(|(host, slurm)| Names { host: (*host).into(), slurm: (*slurm).into() }).collect()
    }

    #[test]
    fn ranks_of_one_identity_follow_the_first_of_them() {
        assert_eq!(leaders(&[7, 9, 7, 9, 7]), [0, 1, 0, 1, 0]);
        assert_eq!(leaders(&[0, 0, 5, 0, 5]), [0, 1, 2, 3, 2], "who has none is alone");
    }

    #[test]
    fn nodes_have_different_names() {
        assert_eq!(called(&names(&[("a", "n1"), ("b", "n2")])), ["a", "b"]);
        assert_eq!(called(&names(&[("a", "n1"), ("a", "n2")])), ["n1", "n2"]);
        assert_eq!(called(&names(&[("a", "n1"), ("b", "n1"), ("a", "n1")])), ["a", "b", "a#2"]);
        assert_eq!(called(&names(&[("a", "")])), ["a"]);
        let one = &names(&[("node7.example.org", "n7")])[0];
        assert_eq!(Names::from_bytes(&one.to_bytes()), *one);
    }

    #[test]
    fn a_token_is_read_by_those_who_see_it_and_goes() {
        let job = u64::from(std::process::id()) << 32 | 0x746f_6b65;
        let path = token_file(job, 3);
        let written = Written::new(&path, 42);
        assert_eq!(read(&path), Some(42));
        assert!(Written::new(&path, 43).0.is_none(), "what is there is not replaced");
        drop(written);
        assert_eq!(read(&path), None);
        assert!(identity().is_some() && identity() == identity());
    }
}
