/* Delivers the result or the error of a search to JavaScript, on the event loop; a part of addon.cpp. */
#ifndef GLOAMING_ADDON_CALLBACK_H
#define GLOAMING_ADDON_CALLBACK_H

#include <napi.h>

#include <mutex>

#include "cuda/host/driver.h"
#include "engine/search.h"

namespace gloaming {

inline Napi::Error toError(Napi::Env env, std::exception_ptr failure) {
  const auto make = [env](const char* code, const std::string& message) {
    Napi::Error error = Napi::Error::New(env, message);
    error.Value()["code"] = Napi::String::New(env, code);
    return error;
  };
  try {
    std::rethrow_exception(failure);
  } catch (const ShapeError& error) {
    return make("KERNEL_SHAPE", error.what());
  } catch (const StoreError& error) {
    return make("KERNEL_STORE", error.what());
  } catch (const cuda::DeviceBusyError& error) {
    return make("KERNEL_BUSY", error.what());
  } catch (const cuda::CudaError& error) {
    return make("KERNEL_DEVICE", error.what());
  } catch (const std::bad_alloc&) {
    return make("KERNEL_FAILED", "out of memory");
  } catch (const std::exception& error) {
    return make("KERNEL_FAILED", error.what());
  }
}

using ToValue = Napi::Value (*)(Napi::Env, const Search&);

/** Whether an environment is alive. Node deletes its side when the environment ends, even if calls are pending. */
struct Line {
  std::mutex mutex;
  bool isOpen = true;
};

/* Calls callback(error) or callback(undefined, result); on the event loop. */
inline void answer(Napi::Env env, Napi::Function callback, const Search& search, std::exception_ptr failure,
                   ToValue toValue) {
  const Napi::HandleScope scope(env);
  if (failure != nullptr) {
    callback.Call({toError(env, failure).Value()});
  } else if (search.isCancelled()) {
    Napi::Error error = Napi::Error::New(env, "the search was cancelled");
    error.Value()["code"] = Napi::String::New(env, "KERNEL_CANCELLED");
    callback.Call({error.Value()});
  } else {
    callback.Call({env.Undefined(), toValue(env, search)});
  }
}

/* Returns the pool's callback for the end of a search. It calls back to JavaScript on the event loop. */
inline Search::Done callOnLoop(Napi::Env env, const Napi::Value& callback, ToValue toValue) {
  const auto line = std::make_shared<Line>();
  const auto hangUp = [line](Napi::Env) {
    const std::lock_guard<std::mutex> lock(line->mutex);
    line->isOpen = false;
  };
  const auto function =
      Napi::ThreadSafeFunction::New(env, callback.As<Napi::Function>(), "gloaming kernels", 0, 1, hangUp);
  return [function, line, toValue](std::shared_ptr<Search> search, std::exception_ptr failure) {
    const std::lock_guard<std::mutex> lock(line->mutex);
    if (!line->isOpen) return;
    const auto status = function.NonBlockingCall([search, failure, toValue](Napi::Env env, Napi::Function callback) {
      answer(env, callback, *search, failure, toValue);
    });
    // A closing environment has released the function already.
    if (status != napi_closing) function.Release();
  };
}

}  // namespace gloaming

#endif
