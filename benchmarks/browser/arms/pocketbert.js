/** The package as it is bundled for npm, with the model beside its script. */
export async function open() {
  const { load } = await import("/pocketbert/pocketbert.js");
  const reader = await load();
  return async (question, passage) => {
    const { text, start, end, found, score, noAnswer } = await reader.answer(question, passage, { deadline: 0 });
    return { text, start, end, found, score, noAnswer };
  };
}
