#include "converters/pytorch/perfetto/event_text.h"

#include <fmt/format.h>

#include <iterator>

#include "converters/pytorch/perfetto/packets.h"
#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kMalformedAnnotation = "an annotation is malformed";
constexpr std::string_view kNoAnnotationText =
    "an annotation refers to a text that no packet before it has";
constexpr std::string_view kTooDeep = "annotations are nested beyond the limit 'depth'";
constexpr std::string_view kTooLong = "annotations are longer than the limit 'string_bytes'";

// Fields of DebugAnnotation.
namespace annotation_field {
constexpr std::uint32_t kNameId = 1;
constexpr std::uint32_t kBool = 2;
constexpr std::uint32_t kUnsigned = 3;
constexpr std::uint32_t kSigned = 4;
constexpr std::uint32_t kReal = 5;
constexpr std::uint32_t kText = 6;
constexpr std::uint32_t kPointer = 7;
constexpr std::uint32_t kLegacyJson = 9;
constexpr std::uint32_t kName = 10;
constexpr std::uint32_t kMembers = 11;
constexpr std::uint32_t kItems = 12;
constexpr std::uint32_t kTextId = 17;
}  // namespace annotation_field

class AnnotationWriter {
 public:
  AnnotationWriter(const InternedTexts& texts, std::string& out) : texts_(texts), out_(out) {}

  void Member(std::string_view message, std::uint64_t depth) {
    bool named = false;
    const bool read = ForEachMessageField(message, [&](const MessageField& field) {
      if (field.Is(annotation_field::kName, WireType::kBytes)) {
        AppendQuoted(field.bytes, out_);
      } else if (field.Is(annotation_field::kNameId, WireType::kVarint)) {
        Interned(InternedTexts::Kind::kAnnotationName, field.bits);
      } else {
        return true;
      }
      named = true;
      return false;  // the first is enough
    });
    if (!named) {
      Fail(read ? kNoAnnotationText : kMalformedAnnotation);
      return;
    }
    out_ += ':';
    Value(message, depth);
  }

  [[nodiscard]] std::string_view error() const { return error_; }

 private:
  void Fail(std::string_view why) { error_ = error_.empty() ? why : error_; }

  void Interned(InternedTexts::Kind kind, std::uint64_t id) {
    const std::string* const text = texts_.Find(kind, id);
    if (text == nullptr) {
      Fail(kNoAnnotationText);
    }
    AppendQuoted(text == nullptr ? std::string_view() : *text, out_);
  }

  void Value(std::string_view message, std::uint64_t depth) {
    if (depth > CurrentInputLimits().depth) {
      Fail(kTooDeep);
      return;
    }
    if (out_.size() > CurrentInputLimits().string_bytes) {  // a text that is repeated by its number
      Fail(kTooLong);
      return;
    }
    char close = 0;  // of the list that is open
    bool done = false;
    const bool read = ForEachMessageField(message, [&](const MessageField& field) {
      const bool lists =
          field.number == annotation_field::kMembers || field.number == annotation_field::kItems;
      if (lists && field.type == WireType::kBytes && !done) {
        const bool members = field.number == annotation_field::kMembers;
        if (close != 0 && close != (members ? '}' : ']')) {
          return false;
        }
        out_ += close != 0 ? ',' : members ? '{' : '[';
        close = members ? '}' : ']';
        members ? Member(field.bytes, depth + 1) : Value(field.bytes, depth + 1);
        return error_.empty();
      }
      if (done || close != 0) {
        return true;
      }
      done = Scalar(field);
      return true;
    });
    if (!read) {
      Fail(kMalformedAnnotation);
    }
    if (close != 0) {
      out_ += close;
    } else if (!done) {
      out_ += "[]";
    }
  }

  bool Scalar(const MessageField& field) {
    if (field.Is(annotation_field::kBool, WireType::kVarint)) {
      out_ += field.bits != 0 ? "true" : "false";
    } else if (field.Is(annotation_field::kUnsigned, WireType::kVarint) ||
               field.Is(annotation_field::kPointer, WireType::kVarint)) {
      fmt::format_to(std::back_inserter(out_), "{}", field.bits);
    } else if (field.Is(annotation_field::kSigned, WireType::kVarint)) {
      fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::int64_t>(field.bits));
    } else if (field.Is(annotation_field::kReal, WireType::kFixed64)) {
      AppendReal(field.Real(), out_);
    } else if (field.Is(annotation_field::kText, WireType::kBytes) ||
               field.Is(annotation_field::kLegacyJson, WireType::kBytes)) {
      AppendQuoted(field.bytes, out_);
    } else if (field.Is(annotation_field::kTextId, WireType::kVarint)) {
      Interned(InternedTexts::Kind::kAnnotationText, field.bits);
    } else {
      return false;
    }
    return true;
  }

  const InternedTexts& texts_;
  std::string& out_;
  std::string_view error_;
};

}  // namespace

std::string_view AppendAnnotation(std::string_view message, const InternedTexts& texts,
                                  std::string& out) {
  AnnotationWriter writer(texts, out);
  writer.Member(message, 1);
  return writer.error();
}

}  // namespace reprise::pytorch
