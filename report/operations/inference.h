// Prefill and decode of a language model's inference, found by what its attention reads: a prompt
// attends to itself, a new token to everything before it. No mark in the program is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/enum_names.h"
#include "report/operations/job_operations.h"

namespace reprise {

enum class PassKind : std::uint8_t {
  kPrefill,  // several tokens of each sequence, for the first time
  kDecode,   // one token of each sequence, after others
};
REPRISE_NAMES(PassKind, "prefill", "decode");

// One run through the model: from its first embedding lookup to the next pass's, with what is done
// with its result (sampling).
struct InferencePass {
  PassKind kind = PassKind::kPrefill;
  std::uint32_t first = 0, last = 0;  // operations of the rank, half-open
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t sequences = 0;    // batch
  std::int64_t tokens = 0;       // of each sequence, new in this pass
  std::int64_t context = 0;      // keys that the last token attends to
  std::int64_t cache_bytes = 0;  // keys and values of all layers that were read
};

struct InferencePhases {
  std::vector<InferencePass> passes;  // in order
  // Medians over prompts and tokens; nothing where there is none.
  std::optional<std::int64_t> first_token_ns, per_token_ns;
  double prefill_tokens_per_second = 0, decode_tokens_per_second = 0;  // all sequences
  // A pass of decode, median; nothing where no attention shows what it reads: runs keep no types.
  std::optional<std::int64_t> cache_growth_bytes;
};

// Nothing: there is no decode pass (a recording of training, of an encoder, or of a prompt alone).
[[nodiscard]] std::optional<InferencePhases> FindInference(const RankOperations& rank);

}  // namespace reprise
