//! Opens arms of programs in the kernel, and measures each subsystem's price once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Bpf, Tracer, calibrate};
use crate::{Arm, Error, GroupLimits, Node, Opener, Price, Subsystem, Traced};

/// Most rounds of a drain: a host that makes records faster than they are taken out must not keep the agent from other
/// work.
const ROUNDS_MAX: usize = 512;

/// Nodes that are measured by programs in the kernel.
#[derive(Default)]
pub struct BpfOpener {
    ring_bytes: Option<u32>,
    nodes: Vec<Opened>,
    prices: BTreeMap<&'static str, Price>,
}

struct Opened {
    node: Node,
    groups: GroupLimits,
    shared: Rc<Bpf>,
    tracer: Tracer,
}

impl BpfOpener {
    /// Returns an opener with a ring of this size, in bytes, for records of traced points, for each node.
    #[must_use]
    pub fn with_ring(ring_bytes: u32) -> Self {
        Self { ring_bytes: Some(ring_bytes), ..Self::default() }
    }

    fn node(&mut self, node: &Node, groups: &GroupLimits) -> Result<Rc<Bpf>, Error> {
        if let Some(opened) = self.nodes.iter().find(|opened| opened.node == *node && opened.groups == *groups) {
            return Ok(Rc::clone(&opened.shared));
        }
        let shared = Bpf::open_with_ring(node.clone(), groups.clone(), self.ring_bytes.unwrap_or(super::RING_BYTES))?;
        let tracer = Tracer::new(&shared)?;
        self.nodes.retain(|opened| opened.node != *node);
        self.nodes.push(Opened { node: node.clone(), groups: groups.clone(), shared: Rc::clone(&shared), tracer });
        Ok(shared)
    }
}

impl Opener for BpfOpener {
    fn open(
        &mut self,
        node: &Node,
        groups: &GroupLimits,
        subsystem: &'static Subsystem,
    ) -> Result<(Box<dyn Arm>, Price), Error> {
        self.prepare(groups, subsystem)?;
        let arm = self.node(node, groups)?.arm(subsystem)?;
        Ok((arm, self.prices[subsystem.name].clone()))
    }

    fn prepare(&mut self, groups: &GroupLimits, subsystem: &'static Subsystem) -> Result<(), Error> {
        if !self.prices.contains_key(subsystem.name) {
            // On the whole host, so that the work is counted; its programs are gone before the first of the node comes.
            let host = Bpf::open(Node::Host, groups.clone())?;
            self.prices.insert(subsystem.name, calibrate(&host, subsystem)?.price);
        }
        Ok(())
    }

    fn drain(&mut self, each: &mut dyn FnMut(&Node, Traced)) {
        for Opened { node, tracer, .. } in &mut self.nodes {
            for _ in 0..ROUNDS_MAX {
                if tracer.drain(|traced| each(node, traced)) == 0 {
                    break;
                }
            }
        }
    }
}
