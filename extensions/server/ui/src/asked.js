/** The last question of this tab, which other views go on with. */
export const asked = { query: "", other: "", k: 10, where: null, where_: "", recall: null };
