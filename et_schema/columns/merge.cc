#include "et_schema/columns/block_coding.h"
#include "et_schema/wire_buffer.h"

namespace reprise::columns {
namespace {

class Merger {
 public:
  explicit Merger(const Block& block) : block_(block), at_(block.columns.size(), 0) {}

  Status Merge(std::string& out) {
    const std::size_t before = out.size();
    for (const std::uint64_t shape : block_.columns[kShapeColumn].values) {
      message_.clear();
      REPRISE_TRY(AddFields(block_.shapes[shape]));
      length_.clear();
      length_.Varint(message_.bytes().size());
      if (out.size() - before + length_.bytes().size() + message_.bytes().size() > block_.bytes) {
        return Damaged("more bytes than it says");
      }
      out += length_.bytes();
      out += message_.bytes();
    }
    return out.size() - before == block_.bytes ? Status{} : Damaged("fewer bytes than it says");
  }

 private:
  Status AddFields(const Shape& shape) {
    for (const std::uint32_t index : shape) {
      if (message_.bytes().size() > block_.bytes) {
        return Damaged("more bytes than it says");
      }
      const Field& field = block_.fields[index];
      const std::uint32_t number = field.tag >> 3;
      if (field.kind == FieldKind::kConstant) {
        message_.BytesField(number, block_.texts[field.argument]);
      } else if (field.kind == FieldKind::kMessage) {
        Status inner;
        message_.Nested(number, [&] { inner = AddFields(block_.parts[field.argument]); });
        REPRISE_TRY(inner);
      } else {
        AddValue(index, field.kind, number, Next(First(index)));
      }
    }
    return {};
  }

  void AddValue(std::uint32_t index, FieldKind kind, std::uint32_t number, std::uint64_t value) {
    switch (kind) {
      case FieldKind::kVarint:
        return message_.VarintField(number, value);
      case FieldKind::kFixed64:
        return message_.Fixed64Field(number, value);
      case FieldKind::kFixed32:
        return message_.Fixed32Field(number, static_cast<std::uint32_t>(value));
      case FieldKind::kText:
        return message_.BytesField(number, block_.texts[value]);
      case FieldKind::kWhole:
        return message_.Bytes(block_.texts[value]);
      default:  // kNumbers: `value` of them
        message_.Nested(number, [&] {
          for (std::uint64_t i = 0; i < value; ++i) {
            message_.Varint(Next(Second(index)));
          }
        });
    }
  }

  std::uint64_t Next(std::uint32_t column) { return block_.columns[column].values[at_[column]++]; }

  const Block& block_;
  std::vector<std::size_t> at_;  // the next value of each column
  WireBuffer message_, length_;
};

}  // namespace

Status MergeMessages(const Block& block, std::string& out) { return Merger(block).Merge(out); }

}  // namespace reprise::columns
