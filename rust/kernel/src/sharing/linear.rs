//! Small systems of linear equations: Gaussian elimination with partial pivoting, O(n³).

/// Solves `matrix` × x = `right`, row by row; stores x in `right`. Returns whether the matrix is regular.
pub(super) fn solve(matrix: &mut [f64], right: &mut [f64]) -> bool {
    let count = right.len();
    for column in 0..count {
        let size = |row: &usize| matrix[row * count + column].abs();
        let Some(pivot) = (column..count).max_by(|one, other| size(one).total_cmp(&size(other))) else {
            return true;
        };
        if matrix[pivot * count + column] == 0.0 {
            return false;
        }
        if pivot != column {
            (0..count).for_each(|at| matrix.swap(pivot * count + at, column * count + at));
            right.swap(pivot, column);
        }
        let (above, below) = matrix.split_at_mut((column + 1) * count);
        let leader = &above[column * count..];
        for (row, line) in below.chunks_exact_mut(count).enumerate() {
            let factor = line[column] / leader[column];
            if factor != 0.0 {
                line[column..]
                    .iter_mut()
                    .zip(&leader[column..])
                    .for_each(|(value, lead)| *value -= factor * lead);
                right[column + 1 + row] -= factor * right[column];
            }
        }
    }
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|at| matrix[row * count + at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row * count + row];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_whatever_the_order_of_their_rows() {
        let mut right = [5.0, 6.0];
        assert!(solve(&mut [0.0, 1.0, 2.0, 0.0], &mut right));
        assert_eq!(right, [3.0, 5.0]);
        assert!(!solve(&mut [1.0, 1.0, 1.0, 1.0], &mut [1.0, 2.0]));
    }
}
