// Messages of `.et` files in two parts: a form, which nodes share (names, shapes, which attributes
// there are), and numbers, in which nodes and ranks differ. Only et_schema sees this.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// What a number is: numbers of one kind make one column of a rank. In files: append only.
enum class NumberKind : std::uint8_t {
  kForm,  // no number of a message: the sequence of forms
  kId,
  kControlDependency,
  kDataDependency,
  kStartMicros,
  kDurationMicros,
  kArgument0,  // in the texts of arguments, by place in the innermost list: tensor's id …
  kArgument1,  // … storage's
  kArgument2,
  kArgumentOther,
  kStartNs,
  kDurationNs,
  kDelayNs,
  kTransferNs,
  kTracingNs,
  kTracingDelayNs,
  kRfId,
  kSeqId,
  kThread,
  kStreamId,
  kDeviceId,
  kLaunch,
  kSource,
  kDestination,
  kTag,
  kGroupId,
  kIndex,
  kSequence,
  kRoot,
  kPeer,
  kIssuedNs,
  kNoticedStartNs,
  kNoticedEndNs,
  kIncarnation,
};
inline constexpr std::size_t kNumberKinds = static_cast<std::size_t>(NumberKind::kIncarnation) + 1;

// What to write where: bytes as they are, and numbers as varints or as decimal text.
class MessageForm {
 public:
  // `key` as SplitMessage has it. False: it is none.
  [[nodiscard]] static bool Parse(std::string key, MessageForm& form);

  [[nodiscard]] const std::string& key() const { return key_; }
  // Of its numbers, in order.
  [[nodiscard]] const std::vector<NumberKind>& kinds() const { return kinds_; }
  // Place of the first number of a kind; −1: it has none.
  [[nodiscard]] int PlaceOf(NumberKind kind) const {
    return places_[static_cast<std::size_t>(kind)];
  }
  // The message; `numbers` are as many as kinds(). The view is into `buffer`.
  [[nodiscard]] std::string_view Join(const std::int64_t* numbers, std::string& buffer) const;

 private:
  enum class Step : std::uint8_t { kBytes, kVarint, kDecimal, kOpen, kClose };
  struct Part {
    Step step;
    std::uint32_t begin = 0, size = 0;  // kBytes: of key_
  };
  friend class MessageSplitter;

  std::string key_;
  std::vector<Part> parts_;
  std::vector<NumberKind> kinds_;
  std::array<std::int32_t, kNumberKinds> places_{};
  std::size_t most_bytes_ = 0;  // that Join can write
};

// A message of a node, or any other bytes: of a message that is none the key is the whole of it.
// Replaces both. MessageForm::Join of them gives the message.
void SplitMessage(std::string_view message, std::string& key, std::vector<std::int64_t>& numbers);

}  // namespace reprise
