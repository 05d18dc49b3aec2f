// Rows of nodes, handed to a rank's file in blocks that may be alike.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "report/run/run.h"

namespace reprise {

// Appends rows in their order. A batch ends before the first row whose node, `row.*node`, is none
// before the next of `begins`, which ascend. The file stores a batch that continues the two before
// it as one row (report/run/repeated_rows.h), so that blocks should be those of the repetitions.
template <typename Row>
void AppendBlocks(RankWriter& writer, std::vector<Row> rows, std::uint64_t Row::*node,
                  std::span<const std::uint64_t> begins) {
  auto first = rows.begin();
  for (const std::uint64_t begin : begins) {
    auto end = first;
    while (end != rows.end() && (*end).*node < begin) {
      ++end;
    }
    if (end != first) {
      writer.Append(std::vector<Row>(std::make_move_iterator(first), std::make_move_iterator(end)));
    }
    first = end;
  }
  if (first == rows.begin()) {
    writer.Append(std::move(rows));
  } else {
    writer.Append(
        std::vector<Row>(std::make_move_iterator(first), std::make_move_iterator(rows.end())));
  }
}

}  // namespace reprise
