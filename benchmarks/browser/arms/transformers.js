/** transformers.js as its users load it: one script, and the pipeline for questions in eight bits. */
export async function open() {
  const { env, pipeline } = await import("/transformers/transformers.min.js");
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = "/models/";
  env.backends.onnx.wasm.wasmPaths = `${location.origin}/onnxruntime/`;
  env.backends.onnx.wasm.numThreads = 1;
  const ask = await pipeline("question-answering", "reader", { dtype: "q8", device: "wasm" });
  return async (question, passage) => {
    const { answer, score } = await ask(question, passage);
    return { text: answer, score };
  };
}
