// What a block of messages consists of, between splitting and coding (docs/package_format.md). Only
// et_schema/columns sees this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::columns {

// One field of a message and what stands in it. All but kWhole begin with `tag`.
enum class FieldKind : std::uint8_t {
  kVarint = 0,    // a number of column First(f)
  kFixed64 = 1,   // the same, in eight bytes
  kFixed32 = 2,   // the same, in four
  kText = 3,      // a length and a text: its index is in column First(f)
  kNumbers = 4,   // a length and varints: how many is in column First(f), they are in Second(f)
  kMessage = 5,   // a length and the fields of part `argument`
  kConstant = 6,  // a length and text `argument`: names of attributes
  kWhole = 7,     // a text as it is, without tag and length: a message that is not as Chakra's
};
inline constexpr std::uint64_t kFieldKinds = 8;

struct Field {
  FieldKind kind = FieldKind::kVarint;
  std::uint32_t tag = 0;  // number << 3 | wire type
  std::uint32_t argument = 0;
  bool operator==(const Field&) const = default;
};

// The fields of a message, in order, as indices into Block::fields.
using Shape = std::vector<std::uint32_t>;

// Column 0 holds the shape of each message; field f has columns First(f) and Second(f).
inline constexpr std::uint32_t kShapeColumn = 0;
[[nodiscard]] inline std::uint32_t First(std::uint32_t field) { return 1 + 2 * field; }
[[nodiscard]] inline std::uint32_t Second(std::uint32_t field) { return 2 + 2 * field; }

// What the numbers of a column are compared with: only the difference is coded.
enum class Base : std::uint8_t {
  kZero = 0,        // nothing
  kNew = 1,         // the next index never used: 0 is that one, n + 1 is n
  kBefore = 2,      // the number `lag` before
  kContext = 3,     // the last number in the same context
  kBeside = 4,      // the number of column `reference` in the same message
  kThousandth = 5,  // a thousandth of it, rounded towards 0, 0 if negative
  kEnds = 6,        // starts: the latest end of what the message waits for, plus its delay
  kActor = 7,       // dependencies: the id of the last message of the same stream or thread
};
inline constexpr std::uint64_t kBases = 8;

struct ColumnPlan {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  Base base = Base::kZero;
  std::uint8_t stage = 0;  // columns are coded by stage, then index
  std::uint32_t lag = 1;
  std::uint64_t unit = 1;  // all differences are multiples of it
  std::uint32_t context = kNone, reference = kNone;
  bool operator==(const ColumnPlan&) const = default;
};
inline constexpr std::uint64_t kStages = 4;

struct Column {
  std::vector<std::uint64_t> values;
  std::vector<std::uint32_t> messages;  // of each value, ascending
  ColumnPlan plan;
};

// The fields that time is made of, for Base::kEnds and Base::kActor: column indices or kNone.
struct TimeColumns {
  std::uint32_t id = ColumnPlan::kNone, deps = ColumnPlan::kNone, duration = ColumnPlan::kNone,
                delay = ColumnPlan::kNone, stream = ColumnPlan::kNone, thread = ColumnPlan::kNone;
};

struct Block {
  std::vector<Field> fields;
  std::vector<Shape> parts;   // of fields of kind kMessage; those in a part come before it
  std::vector<Shape> shapes;  // of messages
  std::vector<std::string_view> texts;  // the known ones (known_texts.h) first
  std::vector<Column> columns;          // 1 + 2 * fields
  TimeColumns time;
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;  // of the messages with their lengths
};

// No block has more: the encoder ends it before.
inline constexpr std::uint64_t kMaxMessages = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxBlockBytes = std::uint64_t{16} << 20;
// A block before another one has at least these bytes, so that hostile files cannot have a block
// per message.
inline constexpr std::uint64_t kMinBlockBytes = std::uint64_t{1} << 20;
// Of a message after its length: a block that is full has the least bytes then.
inline constexpr std::uint64_t kMaxMessageBytes = kMaxBlockBytes - kMinBlockBytes;
inline constexpr std::uint64_t kMaxFields = 1024;
inline constexpr int kMaxDepth = 8;  // of messages in messages

}  // namespace reprise::columns
