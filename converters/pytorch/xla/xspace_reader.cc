#include "converters/pytorch/xla/xspace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kLongestVarint = 10;
constexpr char kPlaneTag = '\x0a';

// A varint of at most ten bytes; `size`: of which it took so many. False: it is none, or is not all
// there.
bool VarintIn(std::string_view bytes, std::uint64_t& value, std::size_t& size) {
  value = 0;
  for (size = 0; size < std::min(bytes.size(), kLongestVarint); ++size) {
    const auto byte = static_cast<unsigned char>(bytes[size]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * size);
    if (byte < 0x80) {
      ++size;
      return true;
    }
  }
  return false;
}

bool IsPlaneName(std::string_view name) {
  return name.starts_with("/host:") || name.starts_with("/device:") || name == "Task Environment" ||
         name.starts_with("#Chip");
}

}  // namespace

tl::unexpected<Error> XSpaceReader::Damaged(std::size_t at_byte, std::string_view what) const {
  return BadInput(fmt::format("{}: byte {} (unpacked): {}; copy the file again, or profile again",
                              source_.path(), at_byte, what));
}

Status XSpaceReader::Fill(std::size_t least) {
  constexpr std::size_t kFilled = 1 << 20;
  while (end_ - begin_ < least && !at_end_) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // A field that says it is long costs memory as its bytes come.
    if (buffer_.size() < end_ + kFilled) {
      buffer_.resize(std::max(end_ + kFilled, std::min(least, 2 * end_)));
    }
    REPRISE_ASSIGN(const std::size_t got,
                   source_.Read(buffer_.data() + end_, buffer_.size() - end_));
    end_ += got;
    at_end_ = got == 0;
  }
  return {};
}

Status XSpaceReader::SkipTo(std::size_t end) {
  while (at_ < end) {
    REPRISE_TRY(Fill(1));
    if (begin_ == end_) {
      return Damaged(at_, "the file ends within a plane");
    }
    const std::size_t passed = std::min(end_ - begin_, end - at_);
    begin_ += passed;
    at_ += passed;
  }
  return {};
}

Status XSpaceReader::SkipPlane() {
  if (plane_end_ == kNone) {
    return {};
  }
  line_end_ = kNone;
  return SkipTo(plane_end_);
}

Status XSpaceReader::SkipLine() { return line_end_ == kNone ? Status() : SkipTo(line_end_); }

bool XSpaceReader::Varint(std::size_t end, std::uint64_t& value) {
  std::size_t size = 0;
  const std::string_view rest(buffer_.data() + begin_, std::min(end_ - begin_, end - at_));
  if (!VarintIn(rest, value, size)) {
    return false;
  }
  begin_ += size;
  at_ += size;
  return true;
}

void XSpaceReader::Leave() {
  if (line_end_ == at_) {
    line_end_ = kNone;
  }
  if (plane_end_ == at_ && line_end_ == kNone) {
    plane_end_ = kNone;
  }
  line_ = line_end_ == kNone ? -1 : line_;
  plane_ = plane_end_ == kNone ? -1 : plane_;
}

Result<bool> XSpaceReader::Scalar(std::size_t end, MessageField& field) {
  if (field.type == WireType::kVarint) {
    return Varint(end, field.bits);
  }
  const std::size_t size = field.type == WireType::kFixed64   ? 8
                           : field.type == WireType::kFixed32 ? 4
                                                              : 0;
  if (size == 0 || end_ - begin_ < size || end - at_ < size) {
    return false;
  }
  field.bits = 0;
  std::memcpy(&field.bits, buffer_.data() + begin_, size);
  begin_ += size;
  at_ += size;
  return true;
}

Result<bool> XSpaceReader::Next(XSpaceField& out) {
  constexpr std::string_view kNotXSpace = "a field of XLA's profile format was expected";
  for (;;) {
    Leave();
    REPRISE_TRY(Fill(2 * kLongestVarint));
    if (begin_ == end_) {
      if (plane_end_ != kNone) {
        return Damaged(at_, "the file ends within a plane");
      }
      return false;
    }
    out = {.level = line_end_ != kNone    ? XSpaceLevel::kLine
                    : plane_end_ != kNone ? XSpaceLevel::kPlane
                                          : XSpaceLevel::kSpace,
           .field = {},
           .at_byte = at_};
    std::uint64_t tag = 0;
    constexpr std::uint64_t kMostTag = std::uint64_t{1} << 32;
    if (!Varint(end(), tag) || tag < 8 || tag >= kMostTag || (tag & 7) > 5) {
      return Damaged(out.at_byte, kNotXSpace);
    }
    out.field.number = static_cast<std::uint32_t>(tag >> 3);
    out.field.type = static_cast<WireType>(tag & 7);
    if (out.field.type != WireType::kBytes) {
      REPRISE_ASSIGN(const bool read, Scalar(end(), out.field));
      if (!read) {
        return Damaged(out.at_byte, kNotXSpace);
      }
      return true;
    }
    std::uint64_t length = 0;
    if (!Varint(end(), length)) {
      return Damaged(out.at_byte, kNotXSpace);
    }
    if (end() == kNone ? length >= kNone - at_ : length > end() - at_) {
      return Damaged(out.at_byte, "a field is longer than what holds it");
    }
    if (out.level == XSpaceLevel::kSpace && out.field.number == kSpacePlanes) {
      plane_end_ = at_ + length;
      plane_ = planes_++;
      lines_ = 0;
    } else if (out.level == XSpaceLevel::kPlane && out.field.number == kPlaneLines) {
      line_end_ = at_ + length;
      line_ = lines_++;
    } else {
      if (length > CurrentInputLimits().string_bytes) {
        return OverLimit(
            source_.path(),
            fmt::format("byte {} (unpacked): a field of {} bytes", out.at_byte, length),
            "string_bytes");
      }
      REPRISE_TRY(Fill(length));
      if (end_ - begin_ < length) {
        return Damaged(at_, fmt::format("the file ends within a field of {} bytes", length));
      }
      out.field.bytes = std::string_view(buffer_).substr(begin_, length);
      begin_ += length;
      at_ += length;
      return true;
    }
  }
}

bool BeginsAsXSpace(std::string_view head) {
  std::uint64_t length = 0;
  std::size_t size = 0;
  if (!head.starts_with(kPlaneTag) || !VarintIn(head.substr(1), length, size)) {
    return false;
  }
  head.remove_prefix(1 + size);
  head = head.substr(0, std::min<std::uint64_t>(length, head.size()));
  constexpr char kPlaneIdTag = '\x08';
  constexpr char kPlaneNameTag = '\x12';
  if (head.starts_with(kPlaneIdTag)) {
    if (!VarintIn(head.substr(1), length, size)) {
      return false;
    }
    head.remove_prefix(1 + size);
  }
  return head.starts_with(kPlaneNameTag) && VarintIn(head.substr(1), length, size) &&
         length <= head.size() - 1 - size && IsPlaneName(head.substr(1 + size, length));
}

}  // namespace reprise::pytorch
