#include "converters/pytorch/xla/hlo_groups.h"

namespace reprise::pytorch {

bool AppendHloIntegers(const MessageField& field, std::vector<std::int64_t>& out) {
  if (field.type == WireType::kVarint) {
    out.push_back(static_cast<std::int64_t>(field.bits));
    return true;
  }
  if (field.type != WireType::kBytes) {
    return false;
  }
  for (WireCursor packed(field.bytes); !packed.AtEnd();) {
    std::uint64_t bits = 0;
    if (!packed.Varint(bits)) {
      return false;
    }
    out.push_back(static_cast<std::int64_t>(bits));
  }
  return true;
}

bool ReadHloGroup(std::string_view message, std::vector<std::vector<std::int64_t>>& groups) {
  std::vector<std::int64_t>& group = groups.emplace_back();
  return ForEachMessageField(message, [&group](const MessageField& field) {
    return field.number != 1 || AppendHloIntegers(field, group);
  });
}

bool ReadHloIota(std::string_view message, HloCollective& out) {
  std::int64_t groups = 0;
  std::int64_t members = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> order;
  const bool sound = ForEachMessageField(message, [&](const MessageField& part) {
    groups = part.Is(1, WireType::kVarint) ? static_cast<std::int64_t>(part.bits) : groups;
    members = part.Is(2, WireType::kVarint) ? static_cast<std::int64_t>(part.bits) : members;
    return (part.number != 3 || AppendHloIntegers(part, shape)) &&
           (part.number != 4 || AppendHloIntegers(part, order));
  });
  out.groups.clear();
  out.has_groups = sound && ExpandGroups(groups, members, shape, order, out.groups);
  return sound;
}

bool ReadHloMesh(std::string_view message, HloCollective& out) {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> axes;
  bool plain = true;
  const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    if (field.Is(1, WireType::kBytes)) {
      return ForEachMessageField(field.bytes, [&](const MessageField& part) {
        plain = plain && part.number == 1;
        std::int64_t size = 1;
        const bool read =
            part.type != WireType::kBytes ||
            ForEachMessageField(part.bytes, [&size](const MessageField& value) {
              size = value.Is(2, WireType::kVarint) ? static_cast<std::int64_t>(value.bits) : size;
              return true;
            });
        sizes.push_back(size);
        return read;
      });
    }
    if (!field.Is(2, WireType::kBytes)) {
      return true;
    }
    std::int64_t axis = 0;  // left out where it is the first
    const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
      plain = plain && part.number == 1;
      axis = part.number == 1 ? static_cast<std::int64_t>(part.bits) : axis;
      return true;
    });
    axes.push_back(axis);
    return read;
  });
  out.groups.clear();
  out.has_groups = sound && plain && GroupsAlong(sizes, axes, out.groups);
  return sound;
}

bool ReadHloDevices(std::string_view message, HloCollective& out) {
  return ForEachMessageField(message, [&out](const MessageField& field) {
    if (field.Is(1, WireType::kBytes)) {
      out.has_groups = true;
      return ReadHloGroup(field.bytes, out.groups);
    }
    return !field.Is(2, WireType::kBytes) || ReadHloIota(field.bytes, out);
  });
}

}  // namespace reprise::pytorch
