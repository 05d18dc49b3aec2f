// A rank's nodes with more or fewer micro-batches than were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/rescale/micro_batches.h"

namespace reprise {

class RepeatedNodes {
 public:
  // `more`: parts (MicroBatchParts) that each step has more, or fewer. `rank`: whose trace it is.
  // The graph and what was found in it must outlive this. Bad input: fewer parts than were found
  // one after the other, of which one stays; arguments that cannot be decoded.
  [[nodiscard]] static Result<RepeatedNodes> Create(const Graph& graph,
                                                    const MicroBatches& micro_batches,
                                                    std::int64_t more, std::int32_t rank);
  RepeatedNodes(RepeatedNodes&&) noexcept;
  ~RepeatedNodes();

  // Steps and ranges at their new times. What was sampled or measured of whole steps is left out.
  [[nodiscard]] TraceMetadata Header() const;
  // By start. A new node is a copy of one at the same place of a recorded part; recorded parts come
  // in turn, so that their spread stays. What it waits for, reads and writes is as many
  // micro-batches before it as with the recorded one. Durations and delays stay. Bad input: a node
  // that waits for one that is left out.
  [[nodiscard]] Status ForEach(const std::function<Status(Node&)>& visit);

 private:
  struct Impl;
  explicit RepeatedNodes(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
