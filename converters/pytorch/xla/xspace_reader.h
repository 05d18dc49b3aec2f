// XLA's profiles (`*.xplane.pb`): one XSpace of planes, which hold lines, which hold events. A
// plane may be as long as the file, so that it is read field by field. Field numbers are those of
// tsl/profiler/protobuf/xplane.proto (https://github.com/openxla/xla).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "converters/message_fields.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// Of XSpace, XPlane and XLine.
inline constexpr std::uint32_t kSpacePlanes = 1;
inline constexpr std::uint32_t kSpaceHostnames = 4;
inline constexpr std::uint32_t kPlaneName = 2;
inline constexpr std::uint32_t kPlaneLines = 3;
inline constexpr std::uint32_t kPlaneEventMetadata = 4;
inline constexpr std::uint32_t kPlaneStatMetadata = 5;
inline constexpr std::uint32_t kPlaneStats = 6;
inline constexpr std::uint32_t kLineId = 1;
inline constexpr std::uint32_t kLineName = 2;
inline constexpr std::uint32_t kLineTimestamp = 3;
inline constexpr std::uint32_t kLineEvents = 4;
inline constexpr std::uint32_t kLineDisplayName = 11;

enum class XSpaceLevel : std::uint8_t { kSpace, kPlane, kLine };

// A field of the message of that level; never a whole plane or line.
struct XSpaceField {
  XSpaceLevel level = XSpaceLevel::kSpace;
  MessageField field;
  std::size_t at_byte = 0;  // of its tag, in the unpacked file
  [[nodiscard]] bool Is(XSpaceLevel of, std::uint32_t number, WireType type) const {
    return level == of && field.Is(number, type);
  }
};

// Memory: the longest field that is no plane and no line, and a MiB.
class XSpaceReader {
 public:
  explicit XSpaceReader(TextSource& source) : source_(source) {}

  // False: the file ended. Bytes hold until the next call. Bad input names the file and the byte.
  [[nodiscard]] Result<bool> Next(XSpaceField& out);
  // Passes what is left of the plane or line that the last field is in.
  [[nodiscard]] Status SkipPlane();
  [[nodiscard]] Status SkipLine();
  // Of the last field, counted from 0: the plane, and the line within it; -1: none.
  [[nodiscard]] std::int64_t plane() const { return plane_; }
  [[nodiscard]] std::int64_t line() const { return line_; }

  [[nodiscard]] tl::unexpected<Error> Damaged(std::size_t at_byte, std::string_view what) const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  Status Fill(std::size_t least);
  Status SkipTo(std::size_t end);
  // Reads the varint that is next, of a message that ends at `end`.
  [[nodiscard]] bool Varint(std::size_t end, std::uint64_t& value);
  [[nodiscard]] Result<bool> Scalar(std::size_t end, MessageField& field);
  void Leave();
  [[nodiscard]] std::size_t end() const {
    return line_end_ != kNone ? line_end_ : plane_end_ != kNone ? plane_end_ : kNone;
  }

  TextSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // in it
  std::size_t at_ = 0;               // of begin_, in the unpacked file
  bool at_end_ = false;
  std::size_t plane_end_ = kNone, line_end_ = kNone;  // in the unpacked file
  std::int64_t plane_ = -1, planes_ = 0, line_ = -1, lines_ = 0;
};

// Whether the first bytes of a file's text are those of an XSpace: a plane that is named as XLA
// names planes.
[[nodiscard]] bool BeginsAsXSpace(std::string_view head);

}  // namespace reprise::pytorch
