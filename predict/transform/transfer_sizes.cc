#include "predict/transform/transfer_sizes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reprise {
namespace {

std::int64_t Scaled(std::int64_t elements, double factor) {
  const auto scaled = std::llround(static_cast<double>(elements) * factor);
  return elements > 0 ? std::max<std::int64_t>(scaled, 1) : elements;
}

std::int64_t ElementBytes(const CommSpec& spec) {
  return std::max<std::int64_t>(SizeOf(spec.dtype), 1);
}

void KeepLargest(CommSpec& spec) {
  // Of uneven members the largest is another rank's; of even ones it is this one's.
  if (spec.largest_bytes >= 0) {
    spec.largest_bytes = std::max(spec.largest_bytes, ContributedBytes(spec));
  }
}

}  // namespace

void ScaleTransfer(double factor, std::int64_t members, CommSpec& spec) {
  const std::int64_t element = ElementBytes(spec);
  const auto scaled = [&](std::int64_t bytes) { return Scaled(bytes / element, factor) * element; };
  const auto sum = [&](std::vector<std::int64_t>& splits) {
    for (std::int64_t& elements : splits) {
      elements = Scaled(elements, factor);
    }
    return std::accumulate(splits.begin(), splits.end(), std::int64_t{0}) * element;
  };
  if (spec.largest_bytes >= 0) {
    spec.largest_bytes = scaled(spec.largest_bytes);
  }
  // One side of a transfer with a block for each member is a multiple of the other.
  const std::int64_t in = spec.in_bytes;
  const std::int64_t out = spec.out_bytes;
  if (!spec.in_splits.empty() || !spec.out_splits.empty()) {
    spec.in_bytes = spec.in_splits.empty() ? scaled(in) : sum(spec.in_splits);
    spec.out_bytes = spec.out_splits.empty() ? scaled(out) : sum(spec.out_splits);
  } else if (IsGathering(spec.kind) && in > 0) {
    spec.in_bytes = scaled(in);
    spec.out_bytes = spec.in_bytes * (out / in);
  } else if (IsScattering(spec.kind) && out > 0) {
    spec.out_bytes = scaled(out);
    spec.in_bytes = spec.out_bytes * (in / out);
  } else if (spec.kind == CommKind::kAllToAll) {
    const std::int64_t blocks = std::max<std::int64_t>(members, 1);
    spec.in_bytes = scaled(in / blocks) * blocks;
    spec.out_bytes = scaled(out / blocks) * blocks;
  } else {
    spec.in_bytes = scaled(in);
    spec.out_bytes = scaled(out);
  }
  KeepLargest(spec);
}

void ResizeTransfer(std::int64_t bytes, std::int64_t members, CommSpec& spec) {
  const std::int64_t now = ContributedBytes(spec);
  if (now > 0) {
    ScaleTransfer(static_cast<double>(bytes) / static_cast<double>(now), members, spec);
  }
}

void RetypeTransfer(DType dtype, CommSpec& spec) {
  const std::int64_t before = ElementBytes(spec);
  spec.dtype = dtype;
  const std::int64_t after = ElementBytes(spec);
  for (std::int64_t* const bytes : {&spec.in_bytes, &spec.out_bytes, &spec.largest_bytes}) {
    *bytes = *bytes > 0 ? *bytes / before * after : *bytes;
  }
}

}  // namespace reprise
