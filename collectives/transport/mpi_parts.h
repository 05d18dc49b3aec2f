// Cutting long messages, and buffers that overlap: shared by the MPI calls of all kinds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "collectives/transport/mpi_transfer.h"

namespace reprise {

inline bool Overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

// MPI forbids overlapping buffers except where it takes MPI_IN_PLACE, which for each call means
// one place in `out`; a copy serves otherwise.
inline const std::byte* Source(const MpiCall& call, const std::byte* in_place_at) {
  if (!Overlap(call.in, call.out)) {
    return call.in.data();
  }
  return call.in.data() == in_place_at ? static_cast<const std::byte*>(MPI_IN_PLACE)
                                       : call.transfer.Stage(call.in);
}

inline const std::byte* Advance(const std::byte* source, std::int64_t bytes) {
  return source == static_cast<const std::byte*>(MPI_IN_PLACE) ? source : source + bytes;
}

// Calls part(offset, bytes) over `total` in pieces of at most `most`, whole units.
template <typename Part>
Status InParts(std::int64_t total, std::int64_t most, std::int64_t unit, Part part) {
  const std::int64_t step = std::max<std::int64_t>(1, most / unit) * unit;
  for (std::int64_t offset = 0; offset < total; offset += step) {
    REPRISE_TRY(part(offset, std::min(step, total - offset)));
  }
  return {};
}

}  // namespace reprise
