//! Heap sort (Williams 1964, with Floyd's construction), which sesame-sort uses because it goes all over its memory.

/// Sorts numbers, none of which is undefined.
pub(crate) fn sort(numbers: &mut [f64]) {
    for root in (0..numbers.len() / 2).rev() {
        sift_down(numbers, root);
    }
    for end in (1..numbers.len()).rev() {
        numbers.swap(0, end);
        sift_down(&mut numbers[..end], 0);
    }
}

fn sift_down(heap: &mut [f64], mut root: usize) {
    loop {
        let left = 2 * root + 1;
        if left >= heap.len() {
            return;
        }
        let right = left + 1;
        let larger = if right < heap.len() && heap[right] > heap[left] { right } else { left };
        if heap[root] >= heap[larger] {
            return;
        }
        heap.swap(root, larger);
        root = larger;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(mut numbers in prop::collection::vec(-1e9_f64..1e9, 0..300)) {
            let mut expected = numbers.clone();
            expected.sort_by(f64::total_cmp);
            sort(&mut numbers);
            prop_assert_eq!(numbers, expected);
        }
    }
}
