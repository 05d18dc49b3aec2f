#include "replayer/engine/rank_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text.h"

namespace reprise {
namespace {

constexpr char kField = '\t';
constexpr char kLine = '\n';
constexpr std::size_t kNameBytes = 120;

// Names come from traces: what separates fields must not be in them.
std::string Plain(std::string_view text) {
  std::string plain(text.substr(0, kNameBytes));
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == kField || c == kLine; }, ' ');
  return plain;
}

template <typename T>
void Parse(std::string_view text, T& value) {
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
}

std::string Encode(const SequenceState& sequence) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", static_cast<char>(sequence.at),
                     Plain(sequence.group), static_cast<int>(sequence.kind), sequence.index,
                     sequence.peer, sequence.node_id, sequence.bytes);
}

SequenceState DecodeSequence(const std::vector<std::string_view>& fields) {
  SequenceState sequence;
  int kind = 0;
  Parse(fields[2], kind);
  sequence.at = static_cast<SequenceState::At>(fields[0].empty() ? 'n' : fields[0].front());
  sequence.group = fields[1];
  sequence.kind = static_cast<CommKind>(kind);
  Parse(fields[3], sequence.index);
  Parse(fields[4], sequence.peer);
  Parse(fields[5], sequence.node_id);
  Parse(fields[6], sequence.bytes);
  return sequence;
}

}  // namespace

std::string RankState::Encode(std::size_t max_bytes) const {
  std::string at_hand_text;
  for (const std::string& node : at_hand) {
    at_hand_text += Plain(node) + kField;
    if (at_hand_text.size() > 3 * kNameBytes) {
      break;  // threads of one rank; what it waits for matters more
    }
  }
  std::string body;
  const auto head = [&](std::int32_t left_out) {
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n{}\n", rank, quiet_ns, iteration, nodes_left,
                       left_out, Plain(host), Plain(last), at_hand_text);
  };
  const std::size_t room = max_bytes - std::min(max_bytes, head(INT32_MAX).size());
  std::int32_t left_out = sequences_left_out;
  for (const SequenceState& sequence : sequences) {
    const std::string line = reprise::Encode(sequence) + kLine;
    if (body.size() + line.size() <= room) {
      body += line;
    } else {
      ++left_out;
    }
  }
  return head(left_out) + body;
}

RankState RankState::Decode(std::string_view text) {
  RankState state;
  const std::vector<std::string_view> lines = SplitText(text, kLine);
  const std::vector<std::string_view> fields = SplitText(lines[0], kField);
  if (fields.size() < 7) {
    return state;
  }
  Parse(fields[0], state.rank);
  Parse(fields[1], state.quiet_ns);
  Parse(fields[2], state.iteration);
  Parse(fields[3], state.nodes_left);
  Parse(fields[4], state.sequences_left_out);
  state.host = fields[5];
  state.last = fields[6];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string_view> parts = SplitText(lines[i], kField);
    if (i == 1) {
      for (const std::string_view node : parts) {
        if (!node.empty()) {
          state.at_hand.emplace_back(node);
        }
      }
    } else if (parts.size() >= 7) {
      state.sequences.push_back(DecodeSequence(parts));
    }
  }
  return state;
}

}  // namespace reprise
