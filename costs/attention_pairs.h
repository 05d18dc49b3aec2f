// How many pairs of a query and a key an attention looks at.
#pragma once

namespace reprise {

// Query i, from 0, sees the first i + 1 + shift keys, as far as there are any. `shift` is 0 where
// the first query and key are aligned, keys - queries where the last are.
[[nodiscard]] double CausalPairs(double queries, double keys, double shift);

}  // namespace reprise
