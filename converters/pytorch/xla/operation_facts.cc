#include "converters/pytorch/xla/operation_facts.h"

#include <algorithm>

#include "converters/pytorch/xla/hlo_text.h"

namespace reprise::pytorch {
namespace {

// "all-gather-start.1" → "all-gather-start".
std::string_view WithoutNumber(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && end + 1 < name.size() && name[end] == '.'
             ? name.substr(0, end)
             : name;
}

void TakeStat(const XStat& stat, OperationFacts& out) {
  const auto text = [&stat](std::string_view& to) { to = stat.is_text ? stat.text : to; };
  switch (stat.name) {
    case XStatName::kHloOp:
      return text(out.hlo_op);
    case XStatName::kHloModule:
      return text(out.hlo_module);
    case XStatName::kHloCategory:
      return text(out.category);
    case XStatName::kTfOp:
      return text(out.tf_op);
    case XStatName::kName:
      return text(out.path);
    case XStatName::kLongName:
      return text(out.long_name);
    case XStatName::kKernelDetails:
      return text(out.kernel_details);
    case XStatName::kMemcpyDetails:
      return text(out.memcpy_details);
    case XStatName::kMemsetDetails:
      return text(out.memset_details);
    case XStatName::kProgramId:
      out.program = stat.number;
      return;
    case XStatName::kCorrelation:
      out.correlation = stat.number;
      return;
    case XStatName::kStepNumber:
      out.step = stat.number;
      return;
    case XStatName::kDeviceOrdinal:
      out.ordinal = stat.number;
      return;
    case XStatName::kFlops:
      out.flops = stat.number;
      return;
    case XStatName::kModelFlops:
      out.model_flops = stat.number;
      return;
    case XStatName::kBytesAccessed:
      out.bytes = stat.number;
      return;
    case XStatName::kRawBytesAccessed:
      out.raw_bytes = stat.number;
      return;
    default:
      return;
  }
}

const HloInstruction* InstructionOf(const XlaProfile& profile, const OperationFacts& facts) {
  const HloModule* const module = profile.Module(facts.program);
  return module == nullptr ? nullptr : module->Find(facts.Operation());
}

}  // namespace

std::string_view OperationFacts::Path() const {
  constexpr std::string_view kOnGpus = "XlaModule:";
  const std::string_view said = tf_op == kOnGpus || tf_op.empty() ? path : tf_op;
  return said.substr(0, said.find_last_not_of(':') + 1);
}

bool ReadFacts(const XPlane& plane, std::string_view event, std::int64_t metadata,
               OperationFacts& out) {
  const auto take = [&out](const XStat& stat) { TakeStat(stat, out); };
  std::optional<HloText> text;
  if (const auto found = plane.events.find(metadata); found != plane.events.end()) {
    const XEventNames names = ReadXEventNames(found->second);
    text = ParseHloText(names.name);
    out.name = !names.display.empty() ? names.display : text ? text->name : names.name;
    if (text) {
      out.long_name = names.name;
    }
    if (!plane.ForEachStat(found->second, kXEventMetadataStats, take)) {
      return false;
    }
  }
  if (!plane.ForEachStat(event, kXEventStats, take)) {
    return false;
  }
  if (!text) {
    text = ParseHloText(out.long_name);
  }
  out.opcode = ParseHloOpcode(text ? text->opcode : WithoutNumber(out.Operation()));
  if (text) {
    out.start = out.opcode.part == HloPart::kDone ? text->last_operand : text->name;
  }
  return true;
}

std::optional<HloCollective> TransferOf(const XlaProfile& profile, const OperationFacts& facts) {
  if (const HloInstruction* const known = InstructionOf(profile, facts);
      known != nullptr && known->transfer) {
    return known->transfer;
  }
  return ParseHloTransfer(facts.long_name);
}

OpClass ClassOf(const XlaProfile& profile, const OperationFacts& facts) {
  const auto text = ParseHloText(facts.long_name);
  const OpClass by_category = ClassOfHlo(facts.category, facts.Path());
  const OpClass by_opcode =
      by_category == OpClass::kOther && text ? ClassOfHlo(text->opcode, "") : by_category;
  const HloInstruction* const known = InstructionOf(profile, facts);
  return by_opcode == OpClass::kOther && known != nullptr ? known->op_class : by_opcode;
}

std::string_view PathOf(const XlaProfile& profile, const OperationFacts& facts) {
  if (const std::string_view said = facts.Path(); !said.empty()) {
    return said;
  }
  const HloInstruction* const known = InstructionOf(profile, facts);
  return known == nullptr || known->op_path.empty() ? facts.hlo_module : known->op_path;
}

std::string_view DetailOf(std::string_view details, std::string_view name) {
  for (std::size_t at = details.find(name); at != std::string_view::npos;
       at = details.find(name, at + 1)) {
    const std::size_t behind = at + name.size();
    if ((at == 0 || details[at - 1] == ' ' || details[at - 1] == '\n') && behind < details.size() &&
        details[behind] == ':') {
      const std::string_view value = details.substr(behind + 1);
      return value.substr(0, value.find_first_of(" \n"));
    }
  }
  return {};
}

}  // namespace reprise::pytorch
