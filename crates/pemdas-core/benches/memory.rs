//! How large a settled instance is: `cargo bench -p pemdas-core --features explore --bench memory`.
#![allow(unsafe_code, reason = "counting what is allocated needs an allocator of one's own")]
#![allow(clippy::disallowed_macros, clippy::print_stdout, reason = "a number for people")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use pemdas_core::explore::Stage;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: everything is done by the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the rules of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    for nodes in [5, 50] {
        let (world, memo) = Stage::settled(nodes).into_parts();
        let all = IN_USE.load(Ordering::Relaxed);
        drop(memo);
        let without_memo = IN_USE.load(Ordering::Relaxed);
        let objects = world.objects.clone();
        let (root, answers) = (world.root.clone(), world.answers.clone());
        let with_copies = IN_USE.load(Ordering::Relaxed);
        drop(world);
        let shared = IN_USE.load(Ordering::Relaxed);
        drop(answers);
        let without_answers = IN_USE.load(Ordering::Relaxed);
        drop((objects, root));
        let objects = without_answers - IN_USE.load(Ordering::Relaxed);
        println!(
            "{nodes} nodes, settled: memo {} bytes, objects {objects}, answers {}, the rest of the world {}",
            all - without_memo,
            shared - without_answers,
            with_copies - shared,
        );
    }
}
