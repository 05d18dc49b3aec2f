// Policies, names, times and sizes of an anonymized set, and that it is the original's otherwise.
#include "converters/share/anonymize/anonymize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "converters/converter.h"
#include "converters/share/anonymize/set_comparison.h"
#include "converters/share/audit/audit.h"
#include "et_schema/io.h"
#include "tests/converters/synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Policy Preset(const std::string& name) {
  auto policy = Policy::Load(name);
  EXPECT_TRUE(policy) << policy.error().message;
  return *policy;
}

// The first difference between two sets' graphs; "" if there is none.
std::string Difference(const std::string& from, const std::string& to) {
  const auto a = TraceSet::OpenPresent(from);
  const auto b = TraceSet::OpenPresent(to);
  SetComparison comparison;
  auto difference = comparison.Groups(*a, *b);
  for (auto file = a->files.begin(); !difference && file != a->files.end(); ++file) {
    const auto result =
        comparison.Rank(*Graph::Load(file->second), *Graph::Load(b->files.at(file->first)));
    EXPECT_TRUE(result) << result.error().message;
    difference = *result;
  }
  return difference.value_or("");
}

std::vector<AuditFinding> Findings(const std::string& directory) {
  const auto report = AuditSet({.directory = directory});
  EXPECT_TRUE(report) << report.error().message;
  return report->findings;
}

TEST(Policy, PresetsNameEveryField) {
  for (const std::string& preset : PolicyPresets()) {
    const auto fields = nlohmann::json::parse(*PolicyText(preset)).at("fields");
    EXPECT_EQ(fields.size(), kFieldCount) << preset;
    EXPECT_EQ(Preset(preset).name, preset);
  }
}

TEST(Policy, RefusesWhatItCannotMean) {
  auto json = nlohmann::json::parse(*PolicyText("replay"));
  const auto message = [&json] {
    const auto policy = Policy::Parse(json.dump(), "mine");
    return policy ? "" : policy.error().message;
  };
  EXPECT_EQ(message(), "");
  json["fields"]["secret"] = "keep";
  EXPECT_THAT(message(), HasSubstr("no field is called \"secret\""));
  json["fields"].erase("secret");
  json["fields"]["grid"] = "coarsen";
  EXPECT_THAT(message(), HasSubstr("keep"));
  json["fields"].erase("grid");
  EXPECT_EQ(message(), "");  // what it does not name is dropped
  json["fields"].erase("start_ns");
  EXPECT_THAT(message(), HasSubstr("\"start_ns\" is missing"));
}

TEST(Rounding, IsReadOrRefused) {
  EXPECT_EQ(ParseRounding("grid:64")->grid, 64);
  EXPECT_EQ(Name(*ParseRounding("scale")), "scale");
  for (const char* bad : {"", "grid", "grid:", "grid:0", "grid:-1", "grid:5x", "round"}) {
    EXPECT_FALSE(ParseRounding(bad)) << bad;
  }
}

TEST(Vocabulary, KnowsHardwareFromNames) {
  const auto words = Vocabulary::Create();
  ASSERT_TRUE(words);
  for (const char* text :
       {"AMD EPYC 9654 96-Core Processor", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
        "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X", "Neoverse-N1", "PyTorch 2.15.0", ""}) {
    EXPECT_TRUE(words->IsHardware(text)) << text;
  }
  for (const char* text : {"acme-node-17", "AMD EPYC of acme", "17", "NVIDIA H100 cluster",
                           "PyTorch 2.15.0+acme", "AMD a17bc93fe2281"}) {
    EXPECT_FALSE(words->IsHardware(text)) << text;
  }
}

TEST(Vocabulary, KnowsWhatIsPublic) {
  const auto words = Vocabulary::Create();
  ASSERT_TRUE(words);
  for (const char* name :
       {"aten::mm", "c10d::allreduce_", "AddmmBackward0", "ProfilerStep#12", "cudaLaunchKernel",
        "autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        "Optimizer.step#AdamW.step", "Optimizer.zero_grad#SGD.zero_grad"}) {
    EXPECT_TRUE(words->IsName(name)) << name;
  }
  for (const char* name :
       {"aten::acme_attention", "acme::mm", "AcmeBackward0", "AddmmBackward", "ProfilerStep#x",
        "Optimizer.step#Acme.step", "Optimizer.step#Adam.step.acme", "## forward ##",
        "FSDP::pre_forward (acme.0)", "aten::mm "}) {
    EXPECT_FALSE(words->IsName(name)) << name;
  }
  EXPECT_EQ(words->PublicKernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"),
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(words->PublicKernel("ncclDevKernel_AllReduce_acme"), std::nullopt);
  EXPECT_EQ(words->PublicKernel("void at::native::vectorized_elementwise_kernel<4, Acme>(int)"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(words->PublicKernel("acme_attention_fwd"), std::nullopt);
}

TEST(KeyedHash, SameSaltSameNames) {
  const std::string path = FreshDirectory("salt") + "/salt";
  const auto first = KeyedHash::FromFile(path);
  ASSERT_TRUE(first) << first.error().message;
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600);
  const auto second = KeyedHash::FromFile(path);
  EXPECT_EQ(first->Name("op", "acme"), second->Name("op", "acme"));
  EXPECT_EQ(first->Factor("durations"), second->Factor("durations"));
  EXPECT_NE(first->Name("op", "acme"), KeyedHash::Random()->Name("op", "acme"));
  EXPECT_NE(first->Name("op", "acme"), first->Name("kernel", "acme"));
  EXPECT_TRUE(IsHashedName(first->Name("op", "acme")));
  EXPECT_FALSE(IsHashedName("op_acme"));
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(KeyedHash::FromFile(path).error().kind, ErrorKind::kEnvironment);
  ::chmod(path.c_str(), 0600);
  WriteText(path, "reprise-salt-1 12\n");
  EXPECT_EQ(KeyedHash::FromFile(path).error().kind, ErrorKind::kBadInput);
}

TEST(KeyedHash, Sha256IsTheStandards) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Coarsening, SpecialNumbersStayAndOthersNeverBecomeThem) {
  for (const double special : {0.0, 1.0, -1.0, 2.0, 0.5, -0.5}) {
    EXPECT_EQ(CoarseNumber(special), special);
  }
  EXPECT_EQ(CoarseNumber(3e-4), 1.5 / 4096);
  EXPECT_EQ(CoarseNumber(1.0507), 1.5);
  EXPECT_EQ(CoarseNumber(-0.9), -0.75);
  EXPECT_EQ(CoarseNumber(CoarseNumber(7.3)), CoarseNumber(7.3));
}

// Two captures of one program, of whose names none is public.
class PrivateSet : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string base = FreshDirectory("private_set");
    captured_ = base + "/captured";
    shared_ = base + "/shared";
    Convert();
  }
  void Convert() {
    const auto report = FindConverter("pytorch")->convert(
        {.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/gloo_comms/gpt_tp4",
         .output_directory = captured_,
         .name = "acme"});
    ASSERT_TRUE(report) << report.error().message;
    const std::string path = captured_ + "/acme.0.et";
    auto trace = Load(path);
    ASSERT_TRUE(trace);
    trace->metadata.source = "on login01 of /home/eve/acme";
    trace->metadata.ranges.push_back({"acme.layers.0", 1, 0, 10, 0});
    Node& node = trace->nodes.at(5);
    node.name = "acme::secret_attention";
    node.parent = "AcmeBlock.forward";
    node.inputs.emplace_back().data = std::string("eve@acme.example.com");
    const auto writer = EtWriter::Create(path, trace->metadata);
    for (const Node& written : trace->nodes) {
      ASSERT_TRUE((*writer)->Write(written));
    }
    ASSERT_TRUE((*writer)->Close());
  }
  AnonymizeReport Share(AnonymizeRequest request) {
    request.input_directory = captured_;
    request.output_directory = shared_;
    auto report = AnonymizeSet(request);
    EXPECT_TRUE(report) << report.error().message;
    return *report;
  }
  std::string captured_, shared_;
};

TEST_F(PrivateSet, NothingPrivateIsLeftInTheBytes) {
  std::vector<std::string> kinds;
  for (const AuditFinding& finding : Findings(captured_)) {
    kinds.push_back(finding.kind);
  }
  EXPECT_THAT(kinds, ::testing::IsSupersetOf(
                         {"absolute time", "private name", "path", "e-mail address", "host name"}));
  const AnonymizeReport report = Share({.policy = Preset("replay")});
  EXPECT_EQ(report.fields.Of(Field::kSource, Action::kDrop), 1U);
  EXPECT_EQ(report.fields.Of(Field::kSource, Action::kKeep), 3U);
  EXPECT_GT(report.fields.Of(Field::kOpSchema, Action::kDrop), 0U);
  EXPECT_EQ(Difference(captured_, shared_), "");
  EXPECT_THAT(Findings(shared_), IsEmpty());
  for (const auto& entry : fs::directory_iterator(shared_)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const char* secret : {"acme", "Acme", "eve", "login01", "tp"}) {
      // Two letters may stand in any hash; as a word of their own they would not.
      EXPECT_EQ(bytes.find(std::string("\"") + secret), std::string::npos) << entry.path();
      EXPECT_TRUE(std::string_view(secret).size() < 4 || bytes.find(secret) == std::string::npos)
          << secret << " in " << entry.path();
    }
  }
}

TEST_F(PrivateSet, SameSaltGivesTheSameBytesAndAnotherOneOthers) {
  const auto bytes = [this] {
    std::ifstream in(shared_ + "/trace.0.et", std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  AnonymizeRequest request{.policy = Preset("replay"), .salt_file = captured_ + "/../salt"};
  request.force = true;
  Share(request);
  const std::string first = bytes();
  Share(request);
  EXPECT_EQ(bytes(), first);
  request.salt_file.clear();
  Share(request);
  EXPECT_NE(bytes(), first);
}

TEST_F(PrivateSet, RoundedTimesStillAddUp) {
  for (const char* rounding : {"grid:1000", "scale"}) {
    AnonymizeRequest request{.policy = Preset("replay"), .force = true};
    request.policy.durations = *ParseRounding(rounding);
    Share(request);
    const auto trace = Load(shared_ + "/trace.0.et");
    ASSERT_TRUE(trace);
    std::map<std::uint64_t, std::int64_t> end_ns;
    bool changed = false;
    for (const Node& node : trace->nodes) {
      std::int64_t ready_ns = node.deps.empty() ? 0 : INT64_MIN;
      for (const Dependency& dep : node.deps) {
        ready_ns = std::max(ready_ns, end_ns.at(dep.node_id));
      }
      ASSERT_EQ(ready_ns + node.delay_ns, node.start_ns) << rounding << " " << node.name;
      ASSERT_GE(node.duration_ns, 0);
      end_ns[node.id] = node.start_ns + node.duration_ns;
      changed = changed || node.start_ns % 1000 != 0;
    }
    EXPECT_EQ(changed, std::string(rounding) == "scale");
    EXPECT_THAT(Difference(captured_, shared_), HasSubstr("steps"));
  }
}

TEST_F(PrivateSet, RoundedShapesMatchAcrossRanks) {
  AnonymizeRequest request{.policy = Preset("replay")};
  request.policy.shapes = *ParseRounding("grid:100");
  Share(request);
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> bytes;
  for (const char* file : {"/trace.0.et", "/trace.3.et"}) {
    const auto trace = Load(shared_ + file);
    ASSERT_TRUE(trace);
    for (const Node& node : trace->nodes) {
      for (const TensorDesc* tensor : TensorsIn(node.inputs)) {
        EXPECT_EQ(tensor->elements, ElementCount(tensor->shape));
        for (const std::int64_t size : tensor->shape) {
          EXPECT_TRUE(size < 100 || size % 100 == 0) << size;
        }
      }
      if (node.comm) {
        const auto [at, added] =
            bytes.try_emplace({node.comm->group, node.comm->index}, node.comm->in_bytes);
        EXPECT_EQ(at->second, node.comm->in_bytes);
      }
    }
  }
  EXPECT_FALSE(bytes.empty());
}

TEST_F(PrivateSet, OtherPresetsSayLess) {
  for (const char* preset : {"simulate", "statistics"}) {
    Share({.policy = Preset(preset), .force = true});
    EXPECT_THAT(Findings(shared_), IsEmpty()) << preset;
    const auto trace = Load(shared_ + "/trace.0.et");
    ASSERT_TRUE(trace);
    for (const Node& node : trace->nodes) {
      EXPECT_THAT(TensorsIn(node.inputs), IsEmpty());
      EXPECT_EQ(node.name, node.comm ? Name(node.comm->kind) : Name(node.op_class));
      EXPECT_TRUE(std::string(preset) == "simulate" || node.deps.empty());
    }
    EXPECT_THAT(ValidateFile(shared_ + "/trace.0.et").errors, IsEmpty());
    EXPECT_THAT(Difference(captured_, shared_), ::testing::Not(IsEmpty()));
  }
}

// A comparison that finds nothing would prove nothing.
TEST_F(PrivateSet, EveryChangeIsFound) {
  const auto change = [this](const std::function<void(Node&)>& edit) {
    Share({.policy = Preset("replay"), .force = true});
    const std::string path = shared_ + "/trace.0.et";
    auto trace = Load(path);
    const auto writer = EtWriter::Create(path, trace->metadata);
    bool edited = false;
    for (Node& node : trace->nodes) {
      if (!edited && node.comm && node.deps.size() > 0) {
        edit(node);
        edited = true;
      }
      EXPECT_TRUE((*writer)->Write(node));
    }
    EXPECT_TRUE(edited && (*writer)->Close());
    return Difference(captured_, shared_);
  };
  EXPECT_EQ(change([](Node&) {}), "");
  EXPECT_THAT(change([](Node& node) { ++node.comm->in_bytes; }), HasSubstr("bytes"));
  EXPECT_THAT(change([](Node& node) { node.comm->group = "7"; }), HasSubstr("process group"));
  EXPECT_THAT(change([](Node& node) { ++node.delay_ns; }), HasSubstr("delay_ns"));
  EXPECT_THAT(change([](Node& node) { node.deps[0].inferred ^= true; }), HasSubstr("dependencies"));
  EXPECT_THAT(change([](Node& node) { node.deps.pop_back(); }), HasSubstr("dependencies"));
  EXPECT_THAT(change([](Node& node) { node.op_class = OpClass::kGemm; }), HasSubstr("op_class"));
  EXPECT_THAT(change([](Node& node) { node.name = "aten::mm"; }), HasSubstr("one to one"));
}

TEST_F(PrivateSet, TheSetItselfAndAnExistingOutputAreRefused) {
  AnonymizeRequest request{.input_directory = captured_,
                           .output_directory = captured_,
                           .policy = Preset("replay"),
                           .force = true};
  EXPECT_EQ(AnonymizeSet(request).error().kind, ErrorKind::kUsage);
  request.output_directory = shared_;
  request.force = false;
  ASSERT_TRUE(AnonymizeSet(request));
  EXPECT_EQ(AnonymizeSet(request).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace reprise::pytorch
