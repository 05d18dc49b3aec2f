// Messages into forms and numbers.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/text.h"
#include "et_schema/message_forms.h"
#include "et_schema/wire.h"

namespace reprise {
namespace {

constexpr std::size_t kLongestVarint = 10;
// Of decimal texts: they fit into 63 bits.
constexpr std::size_t kMostDigits = 18;

// Field numbers of et_def.proto.
constexpr std::uint32_t kIdField = 1, kControlField = 4, kDataField = 5, kStartField = 6,
                        kDurationField = 7, kInputsField = 8, kOutputsField = 9, kAttrField = 10;
constexpr std::uint32_t kStringValueField = 29;
constexpr char kNameTag =
    0x0a;  // field 1, bytes: an attribute's name, a list's values, IO's values

struct NumberAttribute {
  std::string_view name;
  NumberKind kind;
};
// In the order of names.
constexpr std::array kNumberAttributes = std::to_array<NumberAttribute>({
    {"comm_dst", NumberKind::kDestination},
    {"comm_index", NumberKind::kIndex},
    {"comm_issued_ns", NumberKind::kIssuedNs},
    {"comm_noticed_end_ns", NumberKind::kNoticedEndNs},
    {"comm_noticed_start_ns", NumberKind::kNoticedStartNs},
    {"comm_peer", NumberKind::kPeer},
    {"comm_root", NumberKind::kRoot},
    {"comm_sequence", NumberKind::kSequence},
    {"comm_src", NumberKind::kSource},
    {"comm_tag", NumberKind::kTag},
    {"correlation", NumberKind::kLaunch},
    {"delay_ns", NumberKind::kDelayNs},
    {"device", NumberKind::kDeviceId},
    {"duration_ns", NumberKind::kDurationNs},
    {"pg_name", NumberKind::kGroupId},
    {"rf_id", NumberKind::kRfId},
    {"seq_id", NumberKind::kSeqId},
    {"start_ns", NumberKind::kStartNs},
    {"stream", NumberKind::kStreamId},
    {"tensor_incarnations", NumberKind::kIncarnation},
    {"tid", NumberKind::kThread},
    {"tracing_delay_ns", NumberKind::kTracingDelayNs},
    {"tracing_ns", NumberKind::kTracingNs},
    {"transfer_ns", NumberKind::kTransferNs},
});
static_assert(std::ranges::is_sorted(kNumberAttributes, {}, &NumberAttribute::name));

}  // namespace

// Walks through a message; what is no number stays between `plain_` and the next one.
class MessageSplitter {
 public:
  MessageSplitter(std::string_view message, std::string& key, std::vector<std::int64_t>& numbers)
      : at_(message.data()),
        end_(at_ + message.size()),
        plain_(at_),
        key_(key),
        numbers_(numbers) {}

  // False: no message of a node as writers write it.
  [[nodiscard]] bool Run() {
    while (at_ != end_) {
      std::uint64_t tag = 0;
      if (!Varint(tag)) {
        return false;
      }
      const auto field = static_cast<std::uint32_t>(tag >> 3);
      if (!Field(field, static_cast<WireType>(tag & 7))) {
        return false;
      }
    }
    FlushPlain(end_);
    return true;
  }
  // The whole as it is.
  void Whole(std::string_view message) {
    key_.clear();
    numbers_.clear();
    plain_ = message.data();
    FlushPlain(end_);
  }

 private:
  using Step = MessageForm::Step;

  // In as few bytes as it takes, else false: Join would write others.
  [[nodiscard]] bool Varint(std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < kLongestVarint && at_ != end_; ++i) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        return (i == 0 || byte != 0) && (i + 1 < kLongestVarint || byte == 1);
      }
    }
    return false;
  }
  void Mark(Step step) { key_.push_back(static_cast<char>(step)); }
  void PutSize(std::size_t size) {
    for (; size >= 0x80; size >>= 7) {
      key_.push_back(static_cast<char>(size | 0x80));
    }
    key_.push_back(static_cast<char>(size));
  }
  void FlushPlain(const char* until) {
    if (until != plain_) {
      Mark(Step::kBytes);
      const auto size = static_cast<std::size_t>(until - plain_);
      PutSize(size);
      key_.append(plain_, size);
    }
    plain_ = until;
  }
  void Number(Step step, NumberKind kind, std::int64_t value, const char* from) {
    FlushPlain(from);
    Mark(step);
    key_.push_back(static_cast<char>(kind));
    numbers_.push_back(value);
    plain_ = at_;
  }
  [[nodiscard]] bool VarintNumber(NumberKind kind) {
    const char* const from = at_;
    std::uint64_t bits = 0;
    if (!Varint(bits)) {
      return false;
    }
    Number(Step::kVarint, kind, static_cast<std::int64_t>(bits), from);
    return true;
  }

  // A length, and what `walk` makes of the bytes that follow; at_ is then behind them.
  template <typename Walk>
  [[nodiscard]] bool Nested(const Walk& walk) {
    const char* const from = at_;
    std::uint64_t size = 0;
    if (!Varint(size) || size > static_cast<std::uint64_t>(end_ - at_)) {
      return false;
    }
    FlushPlain(from);
    Mark(Step::kOpen);
    plain_ = at_;
    const char* const outer = std::exchange(end_, at_ + size);
    if (!walk() || at_ != end_) {
      return false;
    }
    FlushPlain(at_);
    Mark(Step::kClose);
    end_ = outer;
    return true;
  }
  [[nodiscard]] bool SkipBytes() {
    std::uint64_t size = 0;
    if (!Varint(size) || size > static_cast<std::uint64_t>(end_ - at_)) {
      return false;
    }
    at_ += size;
    return true;
  }
  [[nodiscard]] bool Numbers(NumberKind kind) {
    while (at_ != end_) {
      if (!VarintNumber(kind)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool Skip(WireType type) {
    std::uint64_t bits = 0;
    switch (type) {
      case WireType::kVarint:
        return Varint(bits);
      case WireType::kBytes:
        return SkipBytes();
      case WireType::kFixed64:
      case WireType::kFixed32: {
        const std::ptrdiff_t size = type == WireType::kFixed64 ? 8 : 4;
        if (end_ - at_ < size) {
          return false;
        }
        at_ += size;
        return true;
      }
      default:
        return false;
    }
  }

  [[nodiscard]] bool Field(std::uint32_t field, WireType type) {
    if (type == WireType::kVarint) {
      switch (field) {
        case kIdField:
          return VarintNumber(NumberKind::kId);
        case kStartField:
          return VarintNumber(NumberKind::kStartMicros);
        case kDurationField:
          return VarintNumber(NumberKind::kDurationMicros);
        default:
          return Skip(type);
      }
    }
    if (type != WireType::kBytes) {
      return Skip(type);
    }
    switch (field) {
      case kControlField:
        return Nested([this] { return Numbers(NumberKind::kControlDependency); });
      case kDataField:
        return Nested([this] { return Numbers(NumberKind::kDataDependency); });
      case kInputsField:
      case kOutputsField:
        return Nested([this] { return Arguments(); });
      case kAttrField:
        return AttributeField();
      default:
        return SkipBytes();
    }
  }

  [[nodiscard]] bool Arguments() {
    while (at_ != end_) {
      if (*at_ == kNameTag) {
        ++at_;
        if (!Nested([this] { return Text(true, NumberKind::kArgument0); })) {
          return false;
        }
      } else {
        std::uint64_t tag = 0;
        if (!Varint(tag) || !Skip(static_cast<WireType>(tag & 7))) {
          return false;
        }
      }
    }
    return true;
  }

  // Decimal numbers in it, of `kind`, or with `by_place` of the kind of their place.
  [[nodiscard]] bool Text(bool by_place, NumberKind kind) {
    int place = 0;
    while (at_ != end_) {
      const char c = *at_;
      if (!IsDigit(c)) {
        place = c == '[' ? 0 : place + (c == ',' ? 1 : 0);
        ++at_;
        continue;
      }
      const char* const from = at_;
      while (at_ != end_ && IsDigit(*at_)) {
        ++at_;
      }
      const auto digits = static_cast<std::size_t>(at_ - from);
      if (digits > kMostDigits || (digits > 1 && c == '0')) {
        continue;  // as it is
      }
      std::int64_t value = 0;
      std::from_chars(from, at_, value);
      constexpr int kPlaces = 3;
      Number(Step::kDecimal,
             by_place ? static_cast<NumberKind>(static_cast<int>(NumberKind::kArgument0) +
                                                std::min(place, kPlaces))
                      : kind,
             value, from);
    }
    return true;
  }

  [[nodiscard]] bool AttributeField() {
    const char* const from = at_;
    std::uint64_t size = 0;
    if (!Varint(size) || size > static_cast<std::uint64_t>(end_ - at_)) {
      return false;
    }
    const char* const behind = at_ + size;
    std::string_view name;
    if (size > 2 && at_[0] == kNameTag && static_cast<std::uint8_t>(at_[1]) < 0x80 &&
        static_cast<std::uint64_t>(at_[1]) + 2 <= size) {
      name = {at_ + 2, static_cast<std::size_t>(at_[1])};
    }
    const auto* const known =
        std::ranges::lower_bound(kNumberAttributes, name, {}, &NumberAttribute::name);
    if (known == kNumberAttributes.end() || known->name != name) {
      at_ = behind;
      return true;
    }
    at_ = from;
    return Nested([this, known, &name] {
      at_ = name.data() + name.size();
      return at_ == end_ || Value(known->kind);
    });
  }

  // The attribute's value, its last field.
  [[nodiscard]] bool Value(NumberKind kind) {
    std::uint64_t tag = 0;
    if (!Varint(tag)) {
      return false;
    }
    const auto type = static_cast<WireType>(tag & 7);
    if (type == WireType::kVarint) {
      return VarintNumber(kind);
    }
    if (type != WireType::kBytes) {
      return Skip(type);
    }
    if (tag >> 3 == kStringValueField) {
      return Nested([this, kind] { return Text(false, kind); });
    }
    return Nested([this, kind] {
      if (at_ == end_ || *at_ != kNameTag) {
        at_ = end_;
        return true;
      }
      ++at_;
      return Nested([this, kind] { return Numbers(kind); });
    });
  }

  const char* at_;
  const char* end_;
  const char* plain_;
  std::string& key_;
  std::vector<std::int64_t>& numbers_;
};

void SplitMessage(std::string_view message, std::string& key, std::vector<std::int64_t>& numbers) {
  key.clear();
  numbers.clear();
  if (!MessageSplitter(message, key, numbers).Run()) {
    MessageSplitter(message, key, numbers).Whole(message);
  }
}

}  // namespace reprise
