// The data movement of one collective among ranks that share memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/layout.h"

namespace reprise {

// One member, in group order. in/out are exactly layout.in_bytes / layout.out_bytes.
struct LocalMember {
  const CommSpec* spec = nullptr;
  TransferLayout layout;
  std::span<const std::byte> in;
  std::span<std::byte> out;
};

// Requires specs that fit each other (DifferenceBetween is empty for each pair). Any two buffers
// may overlap.
void MoveLocally(std::span<const LocalMember> members);

}  // namespace reprise
