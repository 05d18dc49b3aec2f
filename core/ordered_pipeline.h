// Items of a sequence, worked on in parallel, begun and finished in order: read, parse, append.
#pragma once

#include <cstddef>
#include <functional>

namespace reprise {

// An item is in one of the caller's slots, 0 … slots − 1, from `next` to the end of `finish`.
struct PipelineStages {
  // Fills the slot with the next item; false: there is none, and `next` is not called again. By one
  // thread at a time.
  std::function<bool(std::size_t slot)> next;
  // On any thread, beside the other stages of other slots.
  std::function<void(std::size_t slot)> work;
  // In the order of `next`, by one thread at a time. The slot is free afterwards.
  std::function<void(std::size_t slot)> finish;
};

// Returns when every item is finished. The caller's thread does all of it where the process has no
// spare core (core/parallel.h); as soon as there is one, another thread joins. What a stage
// throws is rethrown here, and no further stage begins.
void RunOrderedPipeline(std::size_t slots, const PipelineStages& stages);

}  // namespace reprise
