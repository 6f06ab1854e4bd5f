/* Encoders of int8 weights: the handle of one, and the conversion of its arrays; a part of addon.cpp. */
#ifndef GLOAMING_ADDON_ENCODER_H
#define GLOAMING_ADDON_ENCODER_H

#include "node/addon_arguments.h"
#include "node/addon_coded.h"
#include "node/addon_values.h"
#include "engine/encoder.h"

namespace gloaming {

struct OpenEncoder {
  std::shared_ptr<const Encoder> encoder;
  const Kernels* kernels;
  /** Memory of this environment's calls, which run one by one. */
  std::shared_ptr<Workspace> workspace;
};

/* Members of an object of JavaScript, by name. */
class Members {
 public:
  explicit Members(const Napi::Value& value) {
    if (!value.IsObject()) throw ShapeError("the encoder must be an object");
    object_ = value.As<Napi::Object>();
  }

  Members in(const char* name) const { return Members(object_.Get(name)); }
  Napi::Array list(const char* name) const {
    const Napi::Value value = object_.Get(name);
    if (!value.IsArray()) throw ShapeError(std::string(name) + " must be an array");
    return value.As<Napi::Array>();
  }
  uint32_t whole(const char* name) const {
    return static_cast<uint32_t>(wholeNumber(object_.Get(name), kMaxLength, name));
  }
  float number(const char* name) const {
    const Napi::Value value = object_.Get(name);
    if (!value.IsNumber()) throw ShapeError(std::string(name) + " must be a number");
    return value.As<Napi::Number>().FloatValue();
  }
  std::vector<float> floats(const char* name) const {
    return copyArray<Napi::Float32Array, float>(object_.Get(name), napi_float32_array, name);
  }
  std::vector<int8_t> bytes(const char* name) const {
    return copyArray<Napi::Int8Array, int8_t>(object_.Get(name), napi_int8_array, name);
  }
  std::vector<int32_t> wholes(const char* name) const {
    return copyArray<Napi::Int32Array, int32_t>(object_.Get(name), napi_int32_array, name);
  }

 private:
  Napi::Object object_;
};

inline LooseWeights copyLayer(const Members& layer) {
  return {layer.bytes("weights"), layer.floats("scales"), layer.wholes("bias")};
}

inline LooseBlock copyBlock(const Members& block) {
  const Members up = block.in("up");
  return {block.whole("dilation"),    static_cast<int32_t>(block.whole("zero")),
          block.floats("gamma"),      copyLayer(block.in("down")),
          copyLayer(block.in("mix")), {up.bytes("weights"), up.floats("scales"), {}},
          up.floats("bias")};
}

inline LooseEncoder copyEncoder(const Members& model) {
  std::vector<LooseBlock> blocks;
  const Napi::Array all = model.list("blocks");
  for (uint32_t b = 0; b < all.Length(); ++b) blocks.push_back(copyBlock(Members(all.Get(b))));
  return {model.whole("width"),        model.whole("inner"),    model.whole("dimension"), model.whole("stemTaps"),
          model.whole("letterCount"),  model.whole("mixTaps"),  model.whole("padding"),   model.number("epsilon"),
          model.number("leastLength"), model.floats("letters"), std::move(blocks),        model.floats("gamma"),
          model.floats("projection")};
}

inline Napi::Value openEncoder(Napi::Env env, const Kernels& kernels, const Napi::Value& model) {
  if (kernels.encode == nullptr) return env.Undefined();
  auto encoder = std::make_shared<const Encoder>(copyEncoder(Members(model)));
  return hold(env, OpenEncoder{std::move(encoder), &kernels, std::make_shared<Workspace>()});
}

inline Napi::Value encode(const Napi::CallbackInfo& info) {
  const auto& open = heldBy<OpenEncoder>(info[0], "the encoder's weights");
  const auto letters = copyArray<Napi::Uint8Array, uint8_t>(info[1], napi_uint8_array, "the letters");
  return copyOut<Napi::Float32Array>(info.Env(), open.encoder->encode(*open.kernels, letters, *open.workspace));
}

}  // namespace gloaming

#endif
